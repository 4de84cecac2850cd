"""Summary lines of test runners, linters and compilers: how many passed, how many failed.

One recogniser per tool, tried on the end of an output. A recogniser answers only for a line that
the tool itself prints at its end; a tool that prints nothing on success has none for success.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

TAIL: Final = 64 * 1024
"""Characters of an output's end that are looked at."""

_ESCAPES: Final = re.compile("\x1b\\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What one summary line says."""

    tool: str
    failed: int
    passed: int | None
    """None where the tool does not count."""


def summaries(output: str, tools: tuple[str, ...] = ()) -> list[Summary]:
    """Return the summaries in the end of `output`, by tool, in the order of lines.

    `tools` limits them; empty means every known tool.
    """
    text = _ESCAPES.sub("", output[-TAIL:]).replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    return [
        summary
        for tool in (tools or tuple(RECOGNISERS))
        if tool in RECOGNISERS
        for summary in RECOGNISERS[tool](lines)
    ]


Recogniser = Callable[[list[str]], Iterator[Summary]]


def _number(text: str | None) -> int:
    return int(text.replace(",", "")[:12]) if text else 0


_PYTEST: Final = re.compile(r"=*\s*((?:\d+ [a-z]+(?:, )?)+|no tests ran) in \d[\d.:]*s\b.*")
_PYTEST_COUNT: Final = re.compile(r"(\d+) (passed|failed|errors?|xfailed|xpassed|skipped)")


def _pytest(lines: list[str]) -> Iterator[Summary]:
    for line in lines:
        match = _PYTEST.fullmatch(line.strip()[:300])
        if match is None:
            continue
        counts = {word: int(number) for number, word in _PYTEST_COUNT.findall(match[1])}
        failed = sum(counts.get(word, 0) for word in ("failed", "error", "errors"))
        if counts.get("passed", 0) or failed:
            yield Summary(tool="pytest", failed=failed, passed=counts.get("passed", 0))


_UNITTEST: Final = re.compile(r"FAILED \(([^)]{1,100})\)")


def _unittest(lines: list[str]) -> Iterator[Summary]:
    ran: int | None = None
    for line in lines:
        match = re.match(r"Ran (\d+) tests? in ", line)
        if match is not None:
            ran = int(match[1])
        elif ran and re.fullmatch(r"OK(?: \(.{1,60}\))?", line.strip()):
            yield Summary(tool="unittest", failed=0, passed=ran)
            ran = None
        elif ran is not None and (found := _UNITTEST.match(line)):
            counts = re.findall(r"(?:failures|errors|unexpected successes)=(\d+)", found[1])
            failed = sum(int(number) for number in counts)
            yield Summary(tool="unittest", failed=max(failed, 1), passed=max(ran - failed, 0))
            ran = None


def _go(lines: list[str]) -> Iterator[Summary]:
    passed = sum(1 for line in lines if re.match(r"ok\s+\S+\s+(?:\(cached\)|\d[\d.]*m?s)", line))
    failed = sum(1 for line in lines if re.match(r"FAIL\s+\S+", line))
    if not failed and any(line.strip() == "FAIL" for line in lines):
        failed = 1
    if passed or failed:
        yield Summary(tool="go", failed=failed, passed=passed)


_CARGO: Final = re.compile(r"test result: (ok|FAILED)\. (\d+) passed; (\d+) failed;")
_CARGO_ERROR: Final = re.compile(r"error(?:\[E\d+\])?: .{0,200}(?:could not compile|aborting due)")


def _cargo(lines: list[str]) -> Iterator[Summary]:
    found = [match for line in lines if (match := _CARGO.match(line.strip()))]
    broken = any(_CARGO_ERROR.match(line) or line.startswith("error: could not") for line in lines)
    if found or broken:
        failed = sum(int(match[3]) for match in found)
        bad = any(match[1] == "FAILED" for match in found) or broken
        yield Summary(
            tool="cargo",
            failed=max(failed, 1) if bad else failed,
            passed=sum(int(match[2]) for match in found),
        )


_JEST: Final = re.compile(r"Tests:?\s+(?:\d|no tests).*")
_COUNTS: Final = re.compile(r"(\d+) (passed|failed|total|skipped|todo)")


def _jest(lines: list[str]) -> Iterator[Summary]:
    suites_failed = 0
    for line in lines:
        text = line.strip()[:300]
        if re.match(r"(?:Test Suites:|Test Files)\s", text):
            counts = {word: int(number) for number, word in _COUNTS.findall(text)}
            suites_failed = counts.get("failed", 0)
        elif _JEST.fullmatch(text):
            counts = {word: int(number) for number, word in _COUNTS.findall(text)}
            failed = max(counts.get("failed", 0), suites_failed)
            if counts.get("passed", 0) or failed:
                yield Summary(tool="jest", failed=failed, passed=counts.get("passed", 0))


def _node(lines: list[str]) -> Iterator[Summary]:
    counts: dict[str, int] = {}
    for line in lines:
        match = re.fullmatch(r"(?:#|ℹ) (tests|pass|fail|cancelled) (\d+)", line.strip()[:80])
        if match is None:
            continue
        counts[match[1]] = int(match[2])
        if {"pass", "fail", "cancelled"} <= counts.keys():
            failed = counts["fail"] + counts["cancelled"]
            if failed or counts["pass"]:
                yield Summary(tool="node", failed=failed, passed=counts["pass"])
            counts = {}


def _mocha(lines: list[str]) -> Iterator[Summary]:
    passing: int | None = None
    failing = 0
    for line in lines:
        match = re.fullmatch(r"(\d+) (passing|failing)(?: \([\d.]+m?s?\))?", line.strip()[:80])
        if match is None:
            continue
        if match[2] == "passing":
            passing = int(match[1])
        else:
            failing = int(match[1])
    if passing is not None and (passing or failing):
        yield Summary(tool="mocha", failed=failing, passed=passing)


_CTEST: Final = re.compile(r"\d+% tests passed, (\d+) tests? failed out of (\d+)")


def _ctest(lines: list[str]) -> Iterator[Summary]:
    for line in lines:
        match = _CTEST.match(line.strip())
        if match is not None:
            failed = int(match[1])
            yield Summary(tool="ctest", failed=failed, passed=int(match[2]) - failed)


_GRADLE: Final = re.compile(r"(\d+) tests? completed, (\d+) failed")
_MAVEN: Final = re.compile(
    r"(?:\[\w+\] )?Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: \d+$"
)


def _java(lines: list[str]) -> Iterator[Summary]:
    """Gradle and Maven both end with BUILD SUCCESSFUL, SUCCESS, FAILED or FAILURE."""
    ran = failed = 0
    for line in lines:
        text = line.strip()[:200]
        if match := _GRADLE.match(text):
            ran, failed = int(match[1]), int(match[2])
        elif match := _MAVEN.match(text):
            ran, failed = int(match[1]), int(match[2]) + int(match[3])
        elif match := re.fullmatch(
            r"(?:\[\w+\] )?BUILD (SUCCESSFUL|SUCCESS|FAILED|FAILURE)(?: in .{1,40})?", text
        ):
            bad = match[1].startswith("FAIL")
            count = max(failed, 1) if bad else failed
            yield Summary(tool="java", failed=count, passed=ran - failed if ran else None)


_RSPEC: Final = re.compile(r"(\d+) examples?, (\d+) failures?(?:, (\d+) errors? occurred)?")


def _rspec(lines: list[str]) -> Iterator[Summary]:
    for line in lines:
        match = _RSPEC.match(line.strip())
        if match is not None:
            failed = int(match[2]) + _number(match[3])
            if failed or int(match[1]):
                yield Summary(tool="rspec", failed=failed, passed=int(match[1]) - int(match[2]))


def _mypy(lines: list[str]) -> Iterator[Summary]:
    for line in lines:
        if re.match(r"Success: no issues found in \d+ source files?", line):
            yield Summary(tool="mypy", failed=0, passed=None)
        elif match := re.match(r"Found (\d+) errors? in \d+ files?", line):
            yield Summary(tool="mypy", failed=int(match[1]), passed=None)


def _ruff(lines: list[str]) -> Iterator[Summary]:
    for line in lines:
        text = line.strip()
        if text == "All checks passed!" or re.fullmatch(r"\d+ files? already formatted", text):
            yield Summary(tool="ruff", failed=0, passed=None)
        elif match := re.match(
            r"Found (\d+) errors?(?: \((\d+) fixed, (\d+) remaining\))?\.", text
        ):
            left = _number(match[3]) if match[3] else int(match[1])
            yield Summary(tool="ruff", failed=left, passed=None)
        elif match := re.match(r"(\d+) files? would be reformatted", text):
            yield Summary(tool="ruff", failed=int(match[1]), passed=None)


def _eslint(lines: list[str]) -> Iterator[Summary]:
    for line in lines:
        match = re.match(r"[✖x] (\d+) problems? \((\d+) errors?, \d+ warnings?\)", line.strip())
        if match is not None:
            yield Summary(tool="eslint", failed=int(match[2]), passed=None)


def _tsc(lines: list[str]) -> Iterator[Summary]:
    own = sum(
        1
        for line in lines
        if re.search(r"(?:\(\d+,\d+\)|:\d+:\d+)(?::| -) error TS\d+:", line[:400])
    )
    for line in lines:
        match = re.match(
            r"Found (\d+) errors?(?: in .{1,200}|\. Watching .{1,60})?\.?$", line.strip()[:300]
        )
        if match is not None and (own or "Watching" in line):
            yield Summary(tool="tsc", failed=int(match[1]), passed=None)
            return
    if own:
        yield Summary(tool="tsc", failed=own, passed=None)


def _make(lines: list[str]) -> Iterator[Summary]:
    failed = sum(1 for line in lines if re.match(r"g?make(?:\[\d+\])?: \*\*\* .", line))
    if failed:
        yield Summary(tool="make", failed=failed, passed=None)


RECOGNISERS: Final[dict[str, Recogniser]] = {
    "pytest": _pytest,
    "unittest": _unittest,
    "go": _go,
    "cargo": _cargo,
    "jest": _jest,
    "node": _node,
    "mocha": _mocha,
    "ctest": _ctest,
    "java": _java,
    "rspec": _rspec,
    "mypy": _mypy,
    "ruff": _ruff,
    "eslint": _eslint,
    "tsc": _tsc,
    "make": _make,
}
"""By the tool's name; jest also reads vitest, java reads Gradle and Maven."""
