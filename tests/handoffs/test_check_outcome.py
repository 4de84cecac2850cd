from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from handoffs.check_outcome import check_tool, decide
from handoffs.models import CheckStatus

ROWS = json.loads((Path(__file__).parent / "data" / "check-outcomes.json").read_text())
"""Command, exit code and output, with what came of the check; no status: it is no check."""


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['command'][:40]}-{row['exit_code']}")
def test_the_table_of_outcomes(row: dict[str, object]) -> None:
    command, exit_code = str(row["command"]), row["exit_code"]
    assert exit_code is None or isinstance(exit_code, int)
    if row["status"] is None:
        assert check_tool(command) is None
    else:
        assert decide(command, exit_code, str(row["output"])).status == row["status"]


PYTEST_OK = "tests/test_a.py ...\n===== 3 passed, 1 skipped in 0.12s ====="
PYTEST_BAD = "FAILED tests/test_a.py::test_b\n=== 1 failed, 2 passed in 0.12s ==="


@pytest.mark.parametrize(
    ("command", "exit_code", "expected"),
    [
        ("pytest -q", 0, "passed"),
        ("pytest -q", 1, "failed"),
        ("pytest -q", None, "unknown"),
        ("pytest 2>&1", 0, "passed"),
        ("cd sub && pytest -q", 0, "passed"),
        ("echo start; pytest -q", 0, "passed"),
        ("pytest && mypy .", 0, "passed"),
        ("pytest && mypy .", 1, "failed"),
        ("FOO=1 env BAR=2 timeout 60 pytest", 0, "passed"),
        ("timeout 60 pytest", 124, "timed_out"),
        ("set -o pipefail; pytest | tee log", 0, "passed"),
        ("set -euo pipefail\npytest | tee log\necho fine", 0, "passed"),
        ("set -e\npytest\necho fine", 0, "passed"),
        ("pytest || exit 1", 0, "passed"),
        ("bash -lc 'cd sub && pytest -q'", 0, "passed"),
        ("bash -lc 'pytest -q | tail -5'", 0, "unknown"),
        (["bash", "-lc", "pytest -q"], 1, "failed"),
        (["bash", "-o", "pipefail", "-c", "pytest | cat"], 0, "passed"),
        (["pytest", "-k", "a;b | c"], 0, "passed"),
        ("cat <<EOF > x\npytest | y\nEOF\npytest -q", 0, "passed"),
        ("pytest -k 'a; b || true'", 0, "passed"),
        ("pytest # | tail", 0, "passed"),
        ("pytest | tail -5", 0, "unknown"),
        ("pytest |& tail -5", 0, "unknown"),
        ("pytest || true", 0, "unknown"),
        ("pytest || echo failed", 0, "unknown"),
        ("pytest; echo done", 0, "unknown"),
        ("pytest\necho done", 0, "unknown"),
        ("pytest; true", 0, "unknown"),
        ("pytest &", 0, "unknown"),
        ("pytest & wait", 0, "unknown"),
        ("! pytest", 0, "unknown"),
        ("if pytest; then echo ok; fi", 0, "unknown"),
        ("for i in 1 2; do pytest; done", 0, "unknown"),
        ("pytest 'unclosed", 0, "unknown"),
        ("set -e\npytest || true\necho fine", 0, "unknown"),
        ("pytest && true || true", 0, "unknown"),
    ],
)
def test_the_exit_code_counts_only_where_it_is_the_checks_own(
    command: str | list[str], exit_code: int | None, expected: str
) -> None:
    assert decide(command, exit_code, "").status == expected


@pytest.mark.parametrize(
    "command", ["pytest | tail", "pytest || true", "pytest; echo done", "(pytest)"]
)
def test_a_summary_line_decides_where_the_exit_code_cannot(command: str) -> None:
    good = decide(command, 0, PYTEST_OK)
    assert (good.status, good.passed, good.failures) == (CheckStatus.PASSED, 3, 0)
    bad = decide(command, 0, PYTEST_BAD)
    assert (bad.status, bad.passed, bad.failures) == (CheckStatus.FAILED, 2, 1)


def test_a_background_command_is_unknown_without_a_summary() -> None:
    assert decide("pytest", 0, "", background=True).status is CheckStatus.UNKNOWN
    assert decide("pytest", 0, PYTEST_OK, background=True).status is CheckStatus.PASSED


def test_counted_failures_are_believed_over_an_exit_code_zero() -> None:
    assert decide("pytest", 0, PYTEST_BAD).status is CheckStatus.FAILED


def test_every_check_of_a_line_needs_its_own_summary() -> None:
    assert decide("pytest a; pytest b; true", 0, PYTEST_OK).status is CheckStatus.UNKNOWN
    both = PYTEST_OK + "\n" + PYTEST_OK
    assert decide("pytest a; pytest b; true", 0, both).status is CheckStatus.PASSED
    assert decide("pytest; mypy .; true", 0, PYTEST_OK).status is CheckStatus.UNKNOWN


def test_another_tools_summary_decides_nothing() -> None:
    output = "Success: no issues found in 3 source files"
    assert decide("pytest | tail", 0, output).status is CheckStatus.UNKNOWN


SUMMARIES = [
    ("pytest", "5 passed in 0.10s", "1 failed, 4 passed in 0.10s"),
    ("pytest", "=== 5 passed, 2 warnings in 61.00s (0:01:01) ===", "=== 1 error in 0.1s ==="),
    (
        "python -m unittest",
        "Ran 3 tests in 0.001s\n\nOK",
        "Ran 3 tests in 0.1s\n\nFAILED (errors=1)",
    ),
    (
        "go test ./...",
        "ok  \texample.com/a\t0.01s\n?   \texample.com/b\t[no test files]",
        "--- FAIL: TestA (0.00s)\nFAIL\nFAIL\texample.com/a\t0.01s\nFAIL",
    ),
    (
        "cargo test",
        "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
        "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out",
    ),
    (
        "npx jest",
        "Test Suites: 1 passed, 1 total\nTests:       5 passed, 5 total",
        "Test Suites: 1 failed, 1 total\nTests:       1 failed, 4 passed, 5 total",
    ),
    (
        "npx vitest run",
        " Test Files  1 passed (1)\n      Tests  3 passed (3)",
        " Test Files  1 failed (1)\n      Tests  1 failed | 2 passed (3)",
    ),
    (
        "node --test",
        "# tests 3\n# pass 3\n# fail 0\n# cancelled 0",
        "ℹ tests 3\nℹ pass 2\nℹ fail 1\nℹ cancelled 0",
    ),
    ("npx mocha", "  3 passing (12ms)", "  2 passing (1s)\n  1 failing"),
    (
        "ctest",
        "100% tests passed, 0 tests failed out of 4",
        "75% tests passed, 1 tests failed out of 4",
    ),
    (
        "./gradlew test",
        "BUILD SUCCESSFUL in 3s",
        "4 tests completed, 1 failed\n\nBUILD FAILED in 3s",
    ),
    (
        "mvn test",
        "[INFO] Tests run: 4, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS",
        "[ERROR] Tests run: 4, Failures: 1, Errors: 0, Skipped: 0\n[INFO] BUILD FAILURE",
    ),
    ("bundle exec rspec", "3 examples, 0 failures", "3 examples, 1 failure"),
    (
        "mypy .",
        "Success: no issues found in 3 source files",
        "Found 1 error in 1 file (checked 3 source files)",
    ),
    ("ruff check .", "All checks passed!", "Found 1 error."),
]


@pytest.mark.parametrize(("command", "good", "bad"), SUMMARIES)
def test_summary_lines_are_recognised(command: str, good: str, bad: str) -> None:
    hidden = f"{command} 2>&1 | tail -40"
    assert decide(hidden, 0, good).status is CheckStatus.PASSED
    failed = decide(hidden, 0, bad)
    assert (failed.status, failed.failures) == (CheckStatus.FAILED, 1)
    colored = "\n".join(f"\x1b[32m{line}\x1b[0m" for line in good.splitlines())
    assert decide(hidden, 0, colored).status is CheckStatus.PASSED
    assert decide(hidden, 0, "nothing to see").status is CheckStatus.UNKNOWN


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("npx eslint . | tail", "✖ 3 problems (1 error, 2 warnings)"),
        ("npx tsc | tail", "src/a.ts(1,2): error TS2322: Type 'x' is not"),
        ("make test | tail", "make: *** [Makefile:3: test] Error 1"),
        ("npm test | tail", "Tests:       1 failed, 4 passed, 5 total"),
    ],
)
def test_tools_that_say_only_failures(command: str, output: str) -> None:
    outcome = decide(command, 0, output)
    assert (outcome.status, outcome.failures) == (CheckStatus.FAILED, 1)
    assert decide(command, 0, "").status is CheckStatus.UNKNOWN


def test_no_test_ran_is_no_pass() -> None:
    assert decide("pytest | tail", 0, "no tests ran in 0.01s").status is CheckStatus.UNKNOWN
    assert decide("pytest | tail", 0, "3 deselected in 0.01s").status is CheckStatus.UNKNOWN


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("pytest", "pytest"),
        ("/usr/bin/python3.12 -m pytest tests", "pytest"),
        ("uv run --with x pytest", "pytest"),
        ("coverage run -m pytest", "pytest"),
        ("git pull && mypy src", "mypy"),
        ("npx tsc --noEmit", "tsc"),
        ("npm run lint", "generic"),
        ("make check", "generic"),
        ("make", "make"),
        ("cargo clippy", "cargo-build"),
        ("python manage.py test", "unittest"),
        ("./run_tests.sh", "tests"),
        ("go vet ./...", "generic"),
        ("bash -lc 'ruff check .'", "ruff"),
        ("ls -la", None),
        ("cat test_a.py", None),
        ("git commit -m 'pytest passes'", None),
        ("grep -r pytest .", None),
        ("echo pytest", None),
        ("echo $(pytest)", None),
        ("echo '5 passed in 0.1s' || true", None),
        ("pip install pytest", None),
        ("npm install", None),
        ("make install", None),
        ("cargo run", None),
        ("test -f x", None),
        ("pytest --version", None),
        ("", None),
    ],
)
def test_checks_are_told_from_other_commands(command: str, expected: str | None) -> None:
    assert check_tool(command) == expected


def spent(command: str, output: str) -> float:
    started = time.process_time()
    decide(command, 0, output)
    return time.process_time() - started


def assert_linear(command: str, output: str) -> None:
    """Four times the text takes about four times as long, never sixteen."""
    quarter = (command[: len(command) // 4] if len(command) > 100 else command, output)
    if output:
        quarter = (command, output[: len(output) // 4])
    short = min(spent(*quarter) for _ in range(2))
    assert min(spent(command, output) for _ in range(2)) < 8 * short + 0.02


@pytest.mark.parametrize(
    "command",
    ["'" * 50_000, '"\\' * 25_000, "$(" * 25_000, "a | " * 15_000, "`" * 50_001, "((" * 20_000],
)
def test_time_grows_linearly_on_a_hostile_command(command: str) -> None:
    assert_linear(command, "")


@pytest.mark.parametrize(
    "output",
    ["1 a, " * 12_000, "=" * 60_000, "Tests: " + "1 " * 30_000, "\x1b[" * 30_000, "\n=" * 20_000],
)
def test_time_grows_linearly_on_a_hostile_output(output: str) -> None:
    assert_linear("make test | tail", output)
