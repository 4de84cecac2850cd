"""What came of a command that was run to check something.

The exit code of a line is that of its last command: behind `| tail`, `|| true`, `; echo done` or
`&` it says nothing about the check. Then the result is unknown, unless a summary line of the tool
decides it; and a summary line that counts failures is believed over any exit code 0. A runner that
found nothing to run checked nothing, and a command that was killed told nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from handoffs.check_tools import GENERIC, TESTS, tool_of
from handoffs.models import CheckStatus
from handoffs.shell_words import Line, Part, parse
from handoffs.summaries import Summary, nothing_ran, summaries
from handoffs.summary_lines import TOTAL
from handoffs.vocabulary import listed

_TIMED_OUT: Final = 124
"""Exit code of `timeout` for a command that it ended."""
_NOT_STARTED: Final = frozenset({126, 127})
"""Exit codes of a shell for a command that it cannot run, or does not find."""
_KILLED: Final = frozenset({128 + 2, 128 + 9, 128 + 15})
"""Interrupted, killed, terminated: by somebody else, whatever the check would have said."""
_PICKS: Final = listed("grep egrep fgrep rg ag awk gawk sed head cut sort uniq jq (")
"""Programs that may keep the good lines of an output and drop the bad ones."""
_IN_PARTS: Final = frozenset({"go", "cargo", "java", "nox", "sbt", "turbo", GENERIC, TESTS})
"""Tools with one summary for each of several parts: picked lines of theirs decide nothing."""
_NO_TOTAL: Final = frozenset({"dotnet", "pre-commit"})
"""Tools that may print no total behind the parts: not even the last lines decide."""
_KEEPS_ALL: Final = listed("tee cat")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOutcome:
    """The result of a check, and how it is known."""

    status: CheckStatus
    """passed, failed, timed_out, unavailable (it did not start), or unknown."""
    failures: int | None
    """Failing items by the summary line, None without one."""
    passed: int | None
    tool: str | None
    """As `check_tool` names it; None when the command is not a check."""
    reason: str
    """One sentence for people."""


def check_tool(command: str | Sequence[str]) -> str | None:
    """Return the tool of the first check that a command line runs, None when it runs none.

    A tool with a summary of its own is named by it (`pytest`, `jest`, `java`, …); others are
    `generic`, or `tests`.
    """
    return next((tool for _, tool in _checks(parse(command))), None)


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
    checks = _checks(line)
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
    by_code = None if background else _by_exit_code(line, checks, exit_code)
    if by_code is not None and by_code[0] is not CheckStatus.PASSED:
        return answer(*by_code)
    if checks and nothing_ran(output, built=GENERIC in tools or "make" in tools):
        return answer(CheckStatus.UNKNOWN, "there was nothing to run")
    if by_code is not None:
        return answer(*by_code)
    unsaid = _unsaid(command, output)
    said = found if unsaid is output else _relevant(unsaid, tools)
    if checks and _all_summed_up(line, checks, said):
        return answer(CheckStatus.PASSED, "its summary counts no failing one")
    return answer(CheckStatus.UNKNOWN, _why_unknown(exit_code, background=background))


def _checks(line: Line) -> list[tuple[Part, str]]:
    return [(part, tool) for part in line.parts if (tool := tool_of(part.words)) is not None]


def _by_exit_code(
    line: Line, checks: list[tuple[Part, str]], exit_code: int | None
) -> tuple[CheckStatus, str] | None:
    """Return what the exit code says about the checks, None when it is not theirs."""
    parts = [part for part, _ in checks] or list(line.parts)
    if exit_code is None or not line.plain or not parts:
        return None
    if not all(part.decided for part in parts):
        return None
    if exit_code == 0:
        return CheckStatus.PASSED, "exit code 0"
    if checks and any(part.decided for part in _behind(line, parts[-1])):
        return None  # what comes after the checks may have failed instead
    if exit_code == _TIMED_OUT:
        return CheckStatus.TIMED_OUT, "ended by a time limit"
    if exit_code in _NOT_STARTED:
        return CheckStatus.UNAVAILABLE, f"exit code {exit_code}: it could not be started"
    if exit_code in _KILLED or exit_code < 0:
        return CheckStatus.UNKNOWN, f"exit code {exit_code}: it was ended before it was done"
    return CheckStatus.FAILED, f"exit code {exit_code}"


def _behind(line: Line, check: Part) -> tuple[Part, ...]:
    """Return the commands after a check and after what its output is piped through."""
    index = next(number for number, part in enumerate(line.parts) if part is check)
    return line.parts[index + 1 + len(check.through) :]


def _why_unknown(exit_code: int | None, *, background: bool) -> str:
    if background:
        return "it ran in the background and no summary line says how it ended"
    if exit_code is None:
        return "no exit code was recorded and no summary line says how it ended"
    return f"exit code {exit_code} is not that of the check, and no summary line says how it ended"


def _relevant(output: str, tools: tuple[str, ...]) -> list[Summary]:
    if not tools:
        return []
    if GENERIC in tools or TESTS in tools:
        return summaries(output)
    return summaries(output, (*tools, *(f"{tool}{TOTAL}" for tool in tools)))


def _unsaid(command: str | Sequence[str], output: str) -> str:
    """Return the output without lines that the command itself wrote out: `echo "5 passed"`."""
    words = command if isinstance(command, str) else "\n".join(command)
    if "echo" not in words and "print" not in words:
        return output
    kept = (line for line in output.split("\n") if not line.strip() or line.strip() not in words)
    return "\n".join(kept)


def _all_summed_up(line: Line, checks: list[tuple[Part, str]], found: list[Summary]) -> bool:
    """Tell whether every check of the line has a summary of its own that can be believed."""
    totals = {item.tool.removesuffix(TOTAL) for item in found if item.tool.endswith(TOTAL)}
    for part, tool in checks:
        if _is_hidden(line, part) or (tool not in totals and _is_picked(part, tool)):
            return False
    wanted: dict[str, int] = {}
    for _, tool in checks:
        wanted[tool] = wanted.get(tool, 0) + 1
    generic, tests = wanted.pop(GENERIC, 0), wanted.pop(TESTS, 0)
    have: dict[str, int] = {}
    for item in found:
        name = item.tool.removesuffix(TOTAL)
        have[name] = have.get(name, 0) + 1
    if any(have.get(tool, 0) < number for tool, number in wanted.items()):
        return False
    own = sum(wanted.values())
    counted = sum(1 for item in found if item.passed)
    return len(found) - own >= generic + tests and (not tests or counted - own >= tests)


def _is_hidden(line: Line, part: Part) -> bool:
    """Tell whether the output of a check went to a file that nothing of the line shows."""
    if part.target is None or part.target.startswith("&"):
        return False
    return not any(part.target in other.words for other in line.parts if other is not part)


def _is_picked(part: Part, tool: str) -> bool:
    """Tell whether only some lines of a check with several summaries can be seen."""
    if tool in _IN_PARTS:
        return any(name in _PICKS for name in part.through)
    return tool in _NO_TOTAL and any(name not in _KEEPS_ALL for name in part.through)
