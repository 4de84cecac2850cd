"""What came of a command that was run to check something.

The exit code of a line is that of its last command: behind `| tail`, `|| true`, `; echo done` or
`&` it says nothing about the check. Then the result is unknown, unless a summary line of the tool
decides it; and a summary line that counts failures is believed over any exit code 0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from handoffs.models import CheckStatus
from handoffs.shell_words import Line, Part, parse, program
from handoffs.summaries import Summary, summaries
from handoffs.vocabulary import listed

_TIMED_OUT: Final = 124
"""Exit code of `timeout` for a command that it ended."""

GENERIC: Final = "generic"
"""A check whose summary, if any, comes from a tool that it calls: `make test`, `npm test`, …"""

_BY_PROGRAM: Final = {
    "pytest": "pytest",
    "py.test": "pytest",
    "mypy": "mypy",
    "dmypy": "mypy",
    "ruff": "ruff",
    "jest": "jest",
    "vitest": "jest",
    "mocha": "mocha",
    "ctest": "ctest",
    "rspec": "rspec",
    "eslint": "eslint",
    "tsc": "tsc",
    "vue-tsc": "tsc",
    "mvn": "java",
    "mvnw": "java",
    "gradle": "java",
    "gradlew": "java",
    **dict.fromkeys(
        listed(
            "tox nox pyright flake8 pylint black isort bandit clippy golangci-lint prettier biome"
            " rubocop shellcheck shfmt phpunit stylelint hadolint actionlint yamllint playwright"
            " cypress karma ava tap ginkgo lint-imports codespell vulture pre-commit staticcheck"
        ),
        GENERIC,
    ),
}
_CHECKING_WORD: Final = re.compile(
    r"(?:test|tests|check|checks|lint|build|typecheck|type-check|types|ci|verify|vet|clippy|spec"
    r"|coverage|unit|e2e|integration|validate|qa|compile)(?:[:_-][\w:.-]+)?|[\w.-]+[:_-](?:test"
    r"|tests|check|lint)"
)
_RUNNERS: Final = listed(
    "npm pnpm yarn bun make gmake just task rake mix dotnet swift bazel deno rails composer"
    " ninja meson"
)
_FORWARDERS: Final = listed("npx pnpx bunx uvx pipx uv poetry pdm hatch rye pipenv coverage bundle")
_PYTHON: Final = re.compile(r"(?:python|pypy|py)[\d.]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOutcome:
    """The result of a check, and how it is known."""

    status: CheckStatus
    """passed, failed, timed_out, or unknown."""
    failures: int | None
    """Failing items by the summary line, None without one."""
    passed: int | None
    tool: str | None
    """As `check_tool` names it; None when the command is not a check."""
    reason: str
    """One sentence for people."""


def check_tool(command: str | Sequence[str]) -> str | None:
    """Return the tool of the first check that a command line runs, None when it runs none.

    A tool with a summary of its own is named by it (`pytest`, `jest`, `java`, …), others are
    `generic`.
    """
    return next(iter(_tools(parse(command))), None)


def decide(
    command: str | Sequence[str],
    exit_code: int | None,
    output: str,
    *,
    background: bool = False,
) -> CheckOutcome:
    """Return what came of a command from its exit code and the end of its output.

    `background`: the harness did not wait for it, so its exit code is not its own.
    """
    line = parse(command)
    checks = [(part, tool) for part in line.parts if (tool := _tool(part.words)) is not None]
    tools = tuple(dict.fromkeys(tool for _, tool in checks))
    found = _relevant(output, tools)
    failed = sum(item.failed for item in found)
    passed = [item.passed for item in found if item.passed is not None]

    def answer(status: CheckStatus, reason: str) -> CheckOutcome:
        return CheckOutcome(
            status=status,
            failures=failed if found else None,
            passed=sum(passed) if passed else None,
            tool=tools[0] if tools else None,
            reason=reason,
        )

    if failed:
        return answer(CheckStatus.FAILED, f"its summary counts {failed} failing")
    parts = [part for part, _ in checks] or list(line.parts)
    by_code = None if background else _by_exit_code(line, parts, exit_code)
    if by_code is not None:
        return answer(*by_code)
    if checks and _all_summed_up(checks, found):
        return answer(CheckStatus.PASSED, "its summary counts no failing one")
    return answer(CheckStatus.UNKNOWN, _why_unknown(exit_code, background=background))


def _by_exit_code(
    line: Line, parts: list[Part], exit_code: int | None
) -> tuple[CheckStatus, str] | None:
    """Return what the exit code says about the check, None when it is not the check's."""
    if exit_code is None or not parts or not line.plain:
        return None
    if exit_code == 0 and all(part.decided for part in parts):
        return CheckStatus.PASSED, "exit code 0"
    if exit_code != 0 and all(part.decided for part in parts):
        if exit_code == _TIMED_OUT:
            return CheckStatus.TIMED_OUT, "ended by a time limit"
        return CheckStatus.FAILED, f"exit code {exit_code}"
    return None


def _why_unknown(exit_code: int | None, *, background: bool) -> str:
    if background:
        return "it ran in the background and no summary line says how it ended"
    if exit_code is None:
        return "no exit code was recorded and no summary line says how it ended"
    return f"exit code {exit_code} is not that of the check, and no summary line says how it ended"


def _relevant(output: str, tools: tuple[str, ...]) -> list[Summary]:
    if not tools:
        return []
    if GENERIC in tools:
        return summaries(output)
    return summaries(output, tools)


def _all_summed_up(checks: list[tuple[Part, str]], found: list[Summary]) -> bool:
    """Tell whether every check of the line has a summary of its own."""
    wanted: dict[str, int] = {}
    for _, tool in checks:
        wanted[tool] = wanted.get(tool, 0) + 1
    generic = wanted.pop(GENERIC, 0)
    have: dict[str, int] = {}
    for item in found:
        have[item.tool] = have.get(item.tool, 0) + 1
    if any(have.get(tool, 0) < number for tool, number in wanted.items()):
        return False
    return sum(have.values()) - sum(wanted.values()) >= generic


def _tools(line: Line) -> list[str]:
    return [tool for part in line.parts if (tool := _tool(part.words)) is not None]


def _tool(words: tuple[str, ...], depth: int = 0) -> str | None:
    """Return the tool that a simple command runs as a check."""
    if not words or depth > 3:
        return None
    name = program(words[0]).removesuffix(".exe").removesuffix(".cmd")
    rest = words[1:]
    if any(word in ("--version", "--help", "-h", "-V") for word in rest):
        return None
    known = _BY_PROGRAM.get(name)
    if known is not None:
        return known
    if _PYTHON.fullmatch(name):
        return _of_python(rest, depth)
    if name in _FORWARDERS:
        return _forwarded(rest, depth)
    return _of_runner(name, rest)


def _of_python(words: tuple[str, ...], depth: int) -> str | None:
    if "-m" in words:
        module = words[words.index("-m") + 1 :]
        if module[:1] == ("unittest",):
            return "unittest"
        return _tool(module, depth + 1)
    script = next((word for word in words if not word.startswith("-")), "")
    if program(script) == "manage.py" and "test" in words:
        return "unittest"
    name = program(script)
    return GENERIC if re.fullmatch(r"(?:run_?tests?|tests?|test_\w+)\.py", name) else None


def _forwarded(words: tuple[str, ...], depth: int) -> str | None:
    index = 0
    while index < len(words) and (
        words[index].startswith("-") or words[index] in ("run", "exec", "tool", "x", "dlx")
    ):
        index += 2 if words[index] in ("--with", "--python", "--group", "-p", "--extra") else 1
    return _tool(words[index:], depth + 1)


def _of_runner(name: str, words: tuple[str, ...]) -> str | None:
    named = [word for word in words if not word.startswith("-") and "=" not in word]
    if name == "go":
        return _GO.get(named[0]) if named else None
    if name == "cargo":
        return "cargo" if named and named[0] in _CARGO else None
    if name == "node":
        return "node" if "--test" in words else None
    if name in _RUNNERS:
        aimed = [word for word in named if word not in ("run", "exec", "run-script")]
        if name in ("make", "gmake", "ninja") and not aimed:
            return "make"
        checking = any(_CHECKING_WORD.fullmatch(word) for word in aimed[:3])
        return GENERIC if checking else None
    if re.fullmatch(
        r"(?:run[-_]?)?(?:tests?|checks?|lint|ci|build)(?:\.sh|\.bash)?|run[-_]tests?", name
    ):
        return None if name in ("test", "[") else GENERIC
    return "make" if name in ("cmake",) and "--build" in words else None


_GO: Final = {"test": "go", "vet": GENERIC, "build": GENERIC}
_CARGO: Final = listed("test t nextest check c clippy build b fmt")
