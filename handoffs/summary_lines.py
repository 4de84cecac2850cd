"""Summary lines that say everything in one line, by the tool that prints them.

Named groups carry what the line says: `passed`, `failed…` (they add up), `total` (passed and failed
together), `bad` (it failed, without a count). A line with none of these is one of success.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

TOTAL: Final = "-total"
"""Behind the name of a tool: the line is about all parts of a run, not about one."""


SUMMARY_LINES: Final[dict[str, str | tuple[str, ...]]] = {
    "gotestsum": (
        r"DONE (?P<total>\d+) tests?(?:, \d+ skipped)?(?:, (?P<failed>\d+) failures?)?"
        r"(?:, (?P<failed2>\d+) errors?)? in .*"
    ),
    "cargo-build": (
        r"Finished `?\w+`? (?:profile )?\[.{1,60}\] target\(s\) in .*",
        r"(?P<bad>error: )could not compile .*",
    ),
    "mypy": (
        r"Success: no issues found in \d+ source files?",
        r"Found (?P<failed>\d+) errors? in \d+ files?.*",
    ),
    "ruff": (
        r"All checks passed!",
        r"\d+ files? already formatted",
        r"Found \d+ errors? \(\d+ fixed, (?P<failed>\d+) remaining\)\.",
        r"Found (?P<failed>\d+) errors?\.",
        r"(?P<failed>\d+) files? would be reformatted.*",
    ),
    "pyright": (r"(?P<failed>\d+) errors?, \d+ warnings?, \d+ (?:informations?|notes?).*"),
    "pylint": (r"Your code has been rated at 10\.00/10.*"),
    "black": (
        r"\d+ files? would be left unchanged\.",
        r"(?P<failed>\d+) files? would be reformatted.*",
    ),
    "prettier": (
        r"All matched files use Prettier code style!",
        r"\[warn\] Code style issues (?P<bad>found) in .*",
    ),
    "eslint": (r"[\u2716x] \d+ problems? \((?P<failed>\d+) errors?, \d+ warnings?\)",),
    "biome": (
        r"Checked \d+ files? in .{1,20}\. No fixes applied\.",
        r"Found (?P<failed>\d+) errors?\.",
    ),
    "ctest": (r"\d+% tests passed, (?P<failed>\d+) tests? failed out of (?P<total>\d+).*"),
    "rspec": (
        r"(?P<total>\d+) (?:examples?|specs?), (?P<failed>\d+) failures?"
        r"(?:, (?P<failed2>\d+) errors? occurred)?.*"
    ),
    "minitest": (
        r"(?P<total>\d+) (?:runs|tests), \d+ assertions, (?P<failed>\d+) failures,"
        r" (?P<failed2>\d+) errors.*"
    ),
    "rubocop": (r"\d+ files? inspected, (?:no|(?P<failed>\d+)) offenses? detected.*",),
    "mix": (
        r"(?:\d+ (?:doctests?|properties|property), )*(?P<total>\d+) tests?,"
        r" (?P<failed>\d+) failures?.*"
    ),
    "phpunit": (
        r"OK \((?P<passed>\d+) tests?, \d+ assertions?\)",
        (
            r"Tests: (?P<total>\d+), Assertions: \d+(?:, Errors: (?P<failed>\d+))?"
            r"(?:, Failures: (?P<failed2>\d+))?(?:, .*)?\."
        ),
    ),
    "deno": (
        r"(?:ok|(?P<bad>FAILED)) \| (?P<passed>\d+) passed(?: \(.*?\))? \| (?P<failed>\d+) failed.*"
    ),
    "cypress": (
        r"\u2714\s+All specs passed!.*",
        r"\u2716\s+(?P<failed>\d+) of (?P<total>\d+) failed .*",
    ),
    "dotnet": (
        r"(?:Passed|(?P<bad>Failed))!\s+- Failed:\s+(?P<failed>\d+), Passed:\s+(?P<passed>\d+),.*",
    ),
    f"dotnet{TOTAL}": (
        r"Test summary: total: \d+, failed: (?P<failed>\d+), succeeded: (?P<passed>\d+),.*"
    ),
    "dotnet-build": (
        r"Build succeeded(?:\.| in .*| with \d+ warning.*)",
        r"(?P<bad>Build FAILED)\.",
        r"(?P<bad>Build failed) with .*",
    ),
    "swift": (
        (
            r"Executed (?P<total>\d+) tests?, with (?:\d+ tests? skipped and )?(?P<failed>\d+)"
            r" failures? .*"
        ),
        r".{0,3}Test run with (?P<passed>\d+) tests?(?: in \d+ suites?)? passed after .*",
        r".{0,3}(?P<bad>Test run) with \d+ tests?(?: in \d+ suites?)? failed after .*",
        r"\*\* TEST SUCCEEDED \*\*.*",
        r"\*\* (?P<bad>TEST FAILED|BUILD FAILED) \*\*.*",
    ),
    "swift-build": (
        r"Build complete! .*",
        r"\*\* BUILD SUCCEEDED \*\*.*",
        r"\*\* (?P<bad>BUILD FAILED) \*\*.*",
    ),
    "bazel": (
        r"Executed \d+ out of \d+ tests?: (?P<passed>\d+) tests? pass(?:es)?\.",
        r"Executed \d+ out of \d+ tests?: .*?(?P<failed>\d+) (?:tests? )?fails?\b.*",
        r"ERROR: Build (?P<bad>did NOT complete) successfully.*",
        r"INFO: Build completed, (?P<failed>\d+) tests? FAILED.*",
    ),
    "bazel-build": (
        r"INFO: Build completed successfully, .*",
        r"ERROR: Build (?P<bad>did NOT complete) successfully.*",
    ),
    "tox": (
        r"congratulations :\) .*",
        r"(?P<bad>evaluation failed) :\( .*",
        r"\S+: (?P<bad>FAIL) code \d+.*",
        r"ERROR: .*: (?P<bad>commands failed)",
    ),
    "nox": (
        r"nox > Session \S+ was successful.*",
        r"nox > Session \S+ (?P<bad>failed|aborted).*",
        r"nox > \* \S+: (?P<bad>failed|aborted).*",
    ),
    "pre-commit": (r"\S.{0,80}\.{3,}Passed", r"\S.{0,80}\.{3,}(?P<bad>Failed)"),
    "golangci-lint": (r"(?P<failed>\d+) issues?[.:]"),
    "sbt": (
        r"\[\w+\] (?:Passed|Failed): Total (?P<total>\d+), Failed (?P<failed>\d+),"
        r" Errors (?P<failed2>\d+), .*"
    ),
    "prove": (r"Result: (?:PASS|(?P<bad>FAIL))"),
    "ava": (r"(?P<passed>\d+) tests? passed", r"(?P<failed>\d+) tests? failed"),
    "karma": (
        r"TOTAL: (?P<passed>\d+) SUCCESS",
        r"Executed \d+ of (?P<total>\d+).{0,30}\((?P<failed>\d+) FAILED\).*",
    ),
    "dart": (
        r"\d+:\d+ \+(?P<passed>\d+)(?: ~\d+)?: All tests passed!",
        r"\d+:\d+ \+\d+(?: ~\d+)? -(?P<failed>\d+): Some tests failed\.",
    ),
    "zig": (
        r"All (?P<passed>\d+) tests passed\.",
        r"\d+ passed; \d+ skipped; (?P<failed>\d+) failed\.",
    ),
    "meson": (r"Ok:\s+(?P<passed>\d+)", r"Fail:\s+(?P<failed>\d+)"),
    "busted": (
        r"(?P<passed>\d+) success(?:es)? / (?P<failed>\d+) failures? / (?P<failed2>\d+) errors? .*"
    ),
    "helm": (r"\d+ chart\(s\) linted, (?P<failed>\d+) chart\(s\) failed"),
    "terraform": (r"Success! The configuration is valid\..*"),
    "svelte-check": (r"svelte-check found (?P<failed>\d+) errors? .*"),
    "turbo": (
        r"Tasks:\s+(?P<passed>\d+) successful, (?P<total>\d+) total",
        r"(?P<bad>Failed):\s+\S+#\S+.*",
    ),
    "bundler": (
        r"\u2713 built in .*",
        r"(?:\u2713 )?[Cc]ompiled successfully.*",
        r"webpack [\d.]+ compiled successfully.*",
        r"(?P<bad>error during build):.*",
        r"(?P<bad>Failed to compile)\.?",
        r"webpack [\d.]+ compiled with (?P<failed>\d+) errors?.*",
    ),
    "make": (
        r"g?make(?:\[\d+\])?: (?P<bad>\*\*\*) .*",
        r"ninja: (?P<bad>build stopped): .*",
    ),
    "script": (
        r"npm (?:ERR!|error) (?:code (?P<bad>ELIFECYCLE)|(?P<bad2>Lifecycle script) .*failed.*)",
        r".{0,20}?\b(?P<bad>ELIFECYCLE)\b\s.*(?:failed|exit code [1-9]).*",
        r"error (?P<bad>Command failed) with exit code [1-9]\d*\.",
        r".{0,20}(?P<bad>ERR_PNPM_RECURSIVE_\w+).*",
        r"error: script \".{1,80}\" (?P<bad>exited) with code [1-9]\d*.*",
    ),
}
"""Tried on lines without surrounding space; each has to match as a whole."""


@cache
def patterns_of(tool: str) -> tuple[re.Pattern[str], ...]:
    """Return the patterns of a tool; compiled when they are first asked for."""
    return tuple(map(re.compile, _texts(SUMMARY_LINES[tool])))


@cache
def any_line() -> re.Pattern[str]:
    """Return what matches a line that any pattern matches: most lines are none."""
    every = (text for given in SUMMARY_LINES.values() for text in _texts(given))
    return re.compile("|".join(re.sub(r"\(\?P<\w+>", "(?:", text) for text in every))


def _texts(given: str | tuple[str, ...]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else given


NOTHING_RAN: Final = (
    r"(?:=+ )?no tests ran in .*|Ran 0 tests in .*|NO TESTS RAN.*|.*\[no tests? to run\].*"
    r"|\?\s+\S+\s+\[no test files\]|(?:Error: )?No tests? (?:files? )?(?:were )?found.*"
    r"|No test suite found.*|No tests executed!.*|0 (?:examples|specs), 0 failures.*"
    r"|0 passing \(.*|# tests 0|\u2139 tests 0|No test is available in .*|.*No tests to run\.?"
    r"|Error: no test specified|There are no tests to run|0 runs, 0 assertions, .*"
    r"|(?:\[INFO\] )?Tests are skipped\.|test result: ok\. 0 passed; 0 failed; .*"
    r"|Executed 0 tests, .*|(?:ok|FAILED) \| 0 passed \| 0 failed .*|collected 0 items.*"
)
"""A line by which a test runner says that there was nothing to run."""
NOTHING_MADE: Final = (
    r"g?make(?:\[\d+\])?: (?:'.{1,80}' is up to date|Nothing to be done for '.{1,80}')\."
)
"""A line by which make says the same; for a build it means that it is built."""
