"""Summary lines of test runners, linters and compilers: how many passed, how many failed.

One recogniser per tool, tried on the end of an output. A recogniser answers only for a line that
the tool itself prints at its end; a tool that prints nothing on success has none for success.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from handoffs.summary_lines import NOTHING_MADE, NOTHING_RAN, SUMMARY_LINES, any_line, patterns_of

TAIL: Final = 64 * 1024
"""Characters of an output's end that are looked at."""

LINES: Final = 4_000
"""Lines of it that are looked at."""
MAX_LINE: Final = 300
"""Characters of a line that are looked at."""
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

    `tools` limits them; empty means every known tool, and then a line speaks for one tool only. A
    line that was cut at the beginning of what is looked at is left out.
    """
    lines = _lines(output)
    open_lines: list[str] | None = None
    found: list[Summary] = []
    for tool in tools or KNOWN:
        if tool in RECOGNISERS:
            found += RECOGNISERS[tool](lines)
        if tool in SUMMARY_LINES:
            if open_lines is None:
                open_lines = _short(lines, sift=len(tools) != 1)
            summed, open_lines = _by_line(tool, open_lines)
            found += summed
    if any(item.tool == "cargo" and item.failed for item in found):
        found = [item for item in found if item.tool != "cargo-build"]  # the same error
    return found


def _short(lines: list[str], *, sift: bool) -> list[str]:
    """Return lines without space around them; `sift`: only those that say anything at all."""
    short = (line.strip()[:MAX_LINE] for line in lines)
    return [line for line in short if not sift or any_line().fullmatch(line)]


def nothing_ran(output: str, *, built: bool = False) -> bool:
    """Tell whether an output says that there was nothing to run, and of nothing that passed.

    `built`: nothing to do is no news, for the command builds.
    """
    words = NOTHING_RAN if built else f"{NOTHING_RAN}|{NOTHING_MADE}"
    said = any(re.fullmatch(words, line.strip()[:MAX_LINE]) for line in _lines(output))
    return said and not any(item.passed is None or item.passed for item in summaries(output))


def _lines(output: str) -> list[str]:
    text = _ESCAPES.sub("", output[-TAIL:]).replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    return lines[-LINES:] if len(output) <= TAIL else lines[1:][-LINES:]


Recogniser = Callable[[list[str]], Iterator[Summary]]


def _number(text: str | None) -> int:
    return int(text.replace(",", "")[:12]) if text else 0


def _by_line(tool: str, lines: list[str]) -> tuple[list[Summary], list[str]]:
    """Return the summaries of a tool that says everything in one line, and the other lines.

    A line that says only that something failed counts where no other line says how much.
    """
    counted: list[Summary] = []
    bad: list[Summary] = []
    others: list[str] = []
    for line in lines:
        matches = (pattern.fullmatch(line) for pattern in patterns_of(tool))
        match = next((match for match in matches if match is not None), None)
        if match is None:
            others.append(line)
            continue
        summary = _said(tool, match)
        if summary.failed and summary.passed is None and _number_of_failed(match) == 0:
            bad.append(summary)
        elif summary.failed or summary.passed != 0:
            counted.append(summary)
    failed = any(item.failed for item in counted)
    return (counted if failed else [*counted, *bad[:1]]), others


def _number_of_failed(match: re.Match[str]) -> int:
    groups = match.groupdict().items()
    return sum(_number(text) for name, text in groups if name.startswith("failed"))


def _said(tool: str, match: re.Match[str]) -> Summary:
    groups = {name: text for name, text in match.groupdict().items() if text is not None}
    failed = _number_of_failed(match)
    if any(name.startswith("bad") for name in groups):
        failed = max(failed, 1)
    passed = None
    if "passed" in groups:
        passed = _number(groups["passed"])
        if "total" in groups:
            failed = max(failed, _number(groups["total"]) - passed)
    elif "total" in groups:
        passed = max(0, _number(groups["total"]) - failed)
    return Summary(tool=tool, failed=failed, passed=passed)


_PYTEST: Final = re.compile(
    r"=*\s*((?:\d+ [a-z]+(?: [a-z]+)?(?:, )?)+|no tests ran) in \d[\d.:]*s\b.*"
)
_PYTEST_COUNT: Final = re.compile(
    r"(\d+) (?:subtests? )?(passed|failed|errors?|xfailed|xpassed|skipped)"
)


def _pytest(lines: list[str]) -> Iterator[Summary]:
    for line in lines:
        match = _PYTEST.fullmatch(line.strip()[:300])
        if match is None:
            continue
        counts: dict[str, int] = {}
        for number, word in _PYTEST_COUNT.findall(match[1]):
            counts[word] = counts.get(word, 0) + int(number[:12])
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
        elif ran and (found := re.fullmatch(r"OK(?: \((.{1,60})\))?", line.strip())):
            skipped = re.search(r"skipped=(\d+)", found[1] or "")
            ran -= _number(skipped[1]) if skipped else 0
            if ran > 0:
                yield Summary(tool="unittest", failed=0, passed=ran)
            ran = None
        elif ran is not None and (found := _UNITTEST.match(line)):
            counts = re.findall(r"(?:failures|errors|unexpected successes)=(\d+)", found[1])
            failed = sum(int(number) for number in counts)
            yield Summary(tool="unittest", failed=max(failed, 1), passed=max(ran - failed, 0))
            ran = None


def _go(lines: list[str]) -> Iterator[Summary]:
    passed = failed = 0
    broken = False
    for line in lines:
        if re.match(r"ok\s+\S+\s+(?:\(cached\)|\d[\d.]*m?s)", line):
            passed += "[no tests to run]" not in line
        elif re.match(r"FAIL\s+\S+\s+(?:\d[\d.]*s|\[.{1,60}\]|\(cached\))", line):
            failed += 1
        broken = broken or line.startswith("--- FAIL: ") or line.strip() == "FAIL"
    if passed or failed or broken:
        yield Summary(tool="go", failed=failed or int(broken), passed=passed)


_CARGO: Final = re.compile(r"test result: (ok|FAILED)\. (\d+) passed; (\d+) failed;")
_CARGO_ERROR: Final = re.compile(r"error(?:\[E\d+\])?: .{0,200}(?:could not compile|aborting due)")
_NEXTEST: Final = re.compile(
    r"Summary \[.{1,20}\] (?:\d+/)?\d+ tests? run: (\d+) passed(?: \(.{1,60}\))?"
    r"(?:, (\d+) (?:failed|timed out|exec failed))?(?:, (\d+) (?:failed|timed out|exec failed))?"
)


def _cargo(lines: list[str]) -> Iterator[Summary]:
    found = [match for line in lines if (match := _CARGO.match(line.strip()))]
    broken = any(_CARGO_ERROR.match(line) or line.startswith("error: could not") for line in lines)
    failed = sum(int(match[3]) for match in found)
    passed = sum(int(match[2]) for match in found)
    if broken or any(match[1] == "FAILED" for match in found):
        failed = max(failed, 1)
    for line in lines:
        if match := _NEXTEST.match(line.strip()):
            passed += int(match[1])
            failed += _number(match[2]) + _number(match[3])
    if passed or failed:
        yield Summary(tool="cargo", failed=failed, passed=passed)


_JEST: Final = re.compile(r"Tests:?\s+(?:\d|no tests).*")
_COUNTS: Final = re.compile(r"(\d+) (passed|failed|total|skipped|todo)")


def _jest(lines: list[str]) -> Iterator[Summary]:
    suites_failed = 0
    for line in lines:
        text = line.strip()[:MAX_LINE]
        if match := re.fullmatch(r"Errors\s+(\d+) errors?", text):  # vitest: unhandled ones
            yield Summary(tool="jest", failed=int(match[1]), passed=0)
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


_PLAYWRIGHT: Final = re.compile(
    r"(\d+) (passed|failed|flaky|interrupted|did not run)(?: \([\d.]+m?s\))?"
)


def _playwright(lines: list[str]) -> Iterator[Summary]:
    counts: dict[str, int] = {}
    for line in lines:
        if match := _PLAYWRIGHT.fullmatch(line.strip()[:80]):
            counts[match[2]] = int(match[1])
    failed = counts.get("failed", 0) + counts.get("interrupted", 0)
    passed = counts.get("passed", 0) + counts.get("flaky", 0)
    if failed or (passed and not counts.get("did not run")):
        yield Summary(tool="playwright", failed=failed, passed=passed)


def _bun(lines: list[str]) -> Iterator[Summary]:
    counts: dict[str, int] = {}
    for line in lines:
        if match := re.fullmatch(r"(\d+) (pass|fail)", line.strip()[:80]):
            counts[match[2]] = int(match[1])
        elif line.startswith("Ran ") and counts.get("pass", 0) + counts.get("fail", 0):
            yield Summary(tool="bun", failed=counts.get("fail", 0), passed=counts.get("pass", 0))
            counts = {}


_GRADLE: Final = re.compile(r"(\d+) tests? completed, (\d+) failed")
_MAVEN: Final = re.compile(
    r"(?:\[\w+\] )?Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: \d+$"
)


def _java(lines: list[str]) -> Iterator[Summary]:
    """Gradle and Maven both end with BUILD SUCCESSFUL, SUCCESS, FAILED or FAILURE.

    Every module of a build counts its own tests.
    """
    ran = failed = 0
    for line in lines:
        text = line.strip()[:200]
        if match := _GRADLE.match(text):
            ran, failed = ran + int(match[1]), failed + int(match[2])
        elif match := _MAVEN.match(text):
            ran, failed = ran + int(match[1]), failed + int(match[2]) + int(match[3])
        elif match := re.fullmatch(
            r"(?:\[\w+\] )?BUILD (SUCCESSFUL|SUCCESS|FAILED|FAILURE)(?: in .{1,40})?", text
        ):
            bad = match[1].startswith("FAIL")
            count = max(failed, 1) if bad else failed
            yield Summary(tool="java", failed=count, passed=ran - failed if ran else None)
            ran = failed = 0


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


RECOGNISERS: Final[dict[str, Recogniser]] = {
    "pytest": _pytest,
    "unittest": _unittest,
    "go": _go,
    "cargo": _cargo,
    "jest": _jest,
    "node": _node,
    "mocha": _mocha,
    "playwright": _playwright,
    "bun": _bun,
    "java": _java,
    "tsc": _tsc,
}
"""Tools that need more than one line; jest also reads vitest, java reads Gradle and Maven."""
KNOWN: Final = (*RECOGNISERS, *SUMMARY_LINES)
