from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from handoffs.text_rules import claims_pass, has_anchor, vague
from handoffs.text_rules.words import QUOTED, sentences, unquoted, words

DATA = Path(__file__).parent / "data"
RULES = json.loads((DATA / "handoff-text-rules.json").read_text())
MORE = json.loads((DATA / "text-rules-more.json").read_text())
"""Written against the rules, before they were looked at: answers that a careful reader gives."""


@pytest.mark.parametrize("row", RULES["vague"], ids=lambda row: row["text"][:40])
def test_the_table_of_vague_texts(row: dict[str, object]) -> None:
    text = str(row["text"])
    assert vague(text) == row["expect"]
    assert has_anchor(text) == row["anchored"]


@pytest.mark.parametrize("row", RULES["claims_pass"], ids=lambda row: row["text"][:40])
def test_the_table_of_claims(row: dict[str, object]) -> None:
    assert claims_pass(str(row["text"])) == row["expect"]


@pytest.mark.parametrize("expected", ["transcript_reference", "empty_wording", None])
def test_more_vague_texts_and_their_neighbours(expected: str | None) -> None:
    rows = [row["text"] for row in MORE["vague"] if row["expect"] == expected]
    assert len(rows) > 100
    assert [text for text in rows if vague(text) != expected] == []


@pytest.mark.parametrize("expected", [True, False])
def test_more_texts_with_and_without_an_anchor(expected: bool) -> None:
    rows = [row["text"] for row in MORE["vague"] if row.get("anchored") is expected]
    assert len(rows) > 50
    assert [text for text in rows if has_anchor(text) is not expected] == []


@pytest.mark.parametrize("expected", [True, False])
def test_more_claims_and_their_neighbours(expected: bool) -> None:
    rows = [row["text"] for row in MORE["claims_pass"] if row["expect"] is expected]
    assert len(rows) > 200
    assert [text for text in rows if claims_pass(text) is not expected] == []


TRANSCRIPT = """
See above.
See above for details
Do what you said earlier
Do the thing we talked about
Implement it as we agreed
Read the transcript
Look at our chat and fix the bug
Check the previous conversation for the details
Refer to the conversation history
Scroll up for the plan
See my previous message
Follow the instructions in my last message
Implement the plan we discussed
Finish what I described above in the chat
Do the above
Per our discussion, rename the module
As agreed, drop the cache
Fix the bug mentioned in the conversation above
Based on our conversation, update the README
Consult the chat history for the error
see previous messages
Read the earlier thread and proceed
Continue from the previous conversation
Use the plan from the session above
Details are in the conversation
The details are in the chat above
The bug is described in our previous discussion
The error is in the message above
As I said before, the parser is broken
Everything we discussed is done
Refer to what was discussed
look back at the last few messages
参见上面的对话
按照我们之前讨论的去做
见上文
继续上面的
The user and I discussed the design in the previous session; follow that
Check our earlier messages
Refer to earlier messages for context
See chat
Do as I said
Continue as discussed
Continue the plan above
Use the context above
Look at what we did earlier
see previous conversation
refer to our chat
per the discussion above
what you told me earlier still holds
go back to the previous messages
"""
EMPTY = """
keep going
Keep working on it
Carry on.
Go ahead
Resume
Resume the work
Finish the remaining work
Finish up
Do the rest
Next steps
Next steps: TBD
TODO
To be continued
todo: finish
Continue with the next task
Move on to the next step
Proceed
Please proceed with the plan
Continue where the previous agent left off
Pick up from where the last session ended
Continue the implementation
Work in progress
In progress.
Just keep on going until it is done
Complete the task
Finish it.
继续
继续工作
接着做
按计划继续
完成剩下的任务
待办
...
n/a
Same as before
Nothing yet
None.
Pending
Continue as before
Keep up the good work
Let's continue
Start working on the next thing
Make progress
"Continue the previous work."
Continue; then finish.
- [ ] TODO
Wrap things up
Get it done
Follow the plan
Continue with what we were doing
Finish everything that is left
Keep doing what you were doing
Pick up where you left off in the last session
Please continue
ok, continue!
continue working
Carry on with the work
Finish the task
finish up the remaining todos
keep at it
Resume work
"""
DEFINITE = """
Continue the migration
Finish the lexer
Proceed with the release of the client
Resume the download after a network error
Add see-above links
Describe the conversation model
Store each message in the queue
Send the last message again after a reconnect
The session is restored from the last checkpoint
Fix the chat window
Keep the cache warm
Replace the transcript parser
Review the thread pool
The last session ended with an error in the lexer
Check the thread for deadlocks
Read the message from the socket
The parser handles the discussion page
Implement the history view above the sidebar
Move the button above the list
Complete the form and submit it
Test the resume feature
The process is complete
Users can continue a conversation
Review the discussion in issue #12 and reply
Read the messages in the queue and count them
Use the session cookie above the header
Render the conversation list
Add a button to continue the chat
Fix the bug where the previous session is not restored
The reader thread drops the last message
Sessions older than a day are removed
See docs/links.md for details
继续实现解析器的错误恢复
完成数据库迁移
修复聊天窗口
Resume from the last checkpoint
You said the tests were slow
Open a discussion with upstream
查看聊天窗口的样式
The dialog above the footer is broken
Import chats from the previous version
Check the messages table
Use last session's cookie jar
Follow the thread in lib/pool.c
Read the transcript parser tests
Go on with the lexer
Users scroll up to see earlier rows
The same as -a
Same as -a
The result has three fields (see above)
Reopen the last dialog
Finish what is left of the lexer
Next: fix the lexer
Continue with step 3
Discussed the design with the user; they want JSON
We agreed to keep the old API
The user asked for a dark mode in the last message
next step is to add the migration
"""


def lines(block: str) -> list[str]:
    return block.strip().split("\n")


@pytest.mark.parametrize("text", lines(TRANSCRIPT))
def test_references_to_a_conversation_are_found(text: str) -> None:
    assert vague(text) == "transcript_reference"


@pytest.mark.parametrize("text", lines(EMPTY))
def test_empty_wording_is_found(text: str) -> None:
    assert vague(text) == "empty_wording"


@pytest.mark.parametrize("text", lines(DEFINITE))
def test_definite_texts_are_left_alone(text: str) -> None:
    assert vague(text) is None


def test_one_definite_sentence_is_enough() -> None:
    assert vague("Continue. Then finish.") == "empty_wording"
    assert vague("Continue. Rename the lexer.") is None


def test_one_reference_is_too_much() -> None:
    assert vague("Rename lexer.py to scanner.py. See the chat above.") == "transcript_reference"


@pytest.mark.parametrize(
    "text",
    [
        'Reject "see above" in docs.py',
        "Reject `see above` in docs.py",
        "Reject \u201csee above\u201d in docs.py",
        "Reject 'see above' in docs.py",
        "Reject \u300c见上文\u300d in docs.py",
        "Reject ```see above``` in docs.py",
    ],
)
def test_quoted_words_are_not_the_rule(text: str) -> None:
    assert vague(text) is None


def test_a_text_that_is_one_quotation_is_taken_at_its_word() -> None:
    assert vague('"Continue the previous work."') == "empty_wording"
    assert vague("`make test`") is None


CLAIMS = """
All 142 tests pass.
`pytest -q` passes
`cargo test`: ok
Ran pytest and it passed
Ran the tests, all green
The suite (142 tests) passes.
All checks (ruff, mypy, tests) pass
Lint, mypy and tests are green.
tests and lint are clean
The build succeeds on Linux
Build is successful
ruff: clean
mypy --strict clean
mypy reports no errors
no lint errors
142 tests, 0 failures
pytest exits 0
The branch passes the full test suite
This passes CI
Type checks pass and the linter is happy
Ported the module to Rust, all tests pass
Moved the code to lexer.py and all tests pass
The previously failing test now passes
Fixed the failing test; all tests pass now
12/12 tests passing
CI went green after the rebase
Everything passes
The project builds cleanly
go test ./... ok
All unit tests are passing.
npm test succeeded
test_parser.py passes
Type checking passes
The pipeline is green.
the tests have all passed
Full test run completed successfully
tests in tests/handoffs pass
Regression suite: 10 passed, 0 failed
No test failures
got a green build
The tests in a.py, b.py and c.py pass
测试全部通过
CI 通过
The validator now rejects "continue above" wording; focused tests passed.
Tests were run and passed
I ran the whole suite and everything passed
lint passed
Build passing, lint passing
All specs green
tests: passed
the build now compiles without errors
the code compiles without warnings
"""
NO_CLAIMS = """
Tests will pass once the fix lands
The tests do not pass
No tests passed
Make the tests pass
Ensure CI is green before merging
Verify that all tests pass
Tests pass the new flag to the CLI
The test suite passed its arguments to the runner
Most tests pass
3 of 5 tests pass
Only 3 tests pass
All tests pass except test_x
All tests pass now except test_x
All tests pass, but one fails on Windows
pytest: 2 failed, 5 passed
We want all tests to pass
The build passes flags to the compiler
Do the tests pass?
Add a check that passes the request through
The check is passed to the handler
The goal is a green CI
Whether the tests pass is unknown
Tests were expected to pass
lint is not clean
The tests fail
build is broken
CI is red
Wait until CI is green
I have not verified that the tests pass
the suite has never been green
Write tests for the passing of arguments
The banner says "All tests passed." on failure
Fix the test so that it passes
When all tests pass, tag the release
Tests probably pass
Start from a clean build
Rename the build function
The clean target removes build artifacts
测试没有通过
测试应该通过
运行测试直到通过
Test coverage is 80%
The parser passes the token to the lexer
The tests haven't been run
CI must be green
Can't say whether tests pass
Added tests for the success path
Tests are needed for the passed arguments
Without the flag the tests don't pass
The tests ran but 3 failed
1 test fails, 20 pass
"""


@pytest.mark.parametrize("text", lines(CLAIMS))
def test_claims_are_found(text: str) -> None:
    assert claims_pass(text)


@pytest.mark.parametrize("text", lines(NO_CLAIMS))
def test_what_is_hedged_denied_asked_for_or_something_else_is_no_claim(text: str) -> None:
    assert not claims_pass(text)


@pytest.mark.parametrize(
    "text",
    [
        *("see src/a.py", "see ./run", "edit ~/.bashrc", "fix #12", "the 3 tests", "`x`"),
        *("rename read_line", "call parse()", "class SessionImporter", "pass --force", "set $HOME"),
        *("run pytest", "run git push", "run make test", "the README", "errors::Kind", "lexer.rs"),
    ],
)
def test_something_definite_is_an_anchor(text: str) -> None:
    assert has_anchor(text)


@pytest.mark.parametrize(
    "text",
    [
        *("Make it fast", "Fix the lexer and/or the parser", "Use a cache, e.g. for names"),
        *("Go on with JavaScript on GitHub", "Test the code.", "Run tests", "Fix it. Then rest."),
        "Improve the read/write path",
    ],
)
def test_ordinary_words_are_no_anchor(text: str) -> None:
    assert not has_anchor(text)


def test_quoted_spans_are_taken_out() -> None:
    assert unquoted('a "b c" `d` e').split() == ["a", QUOTED, QUOTED, "e"]
    assert unquoted("don't touch it's").split() == ["don't", "touch", "it's"]
    assert unquoted("``a ` b`` c").split() == [QUOTED, "c"]
    assert unquoted("`open").split() == ["`open"]


def test_sentences_end_at_marks_lines_and_items() -> None:
    assert sentences("A b.py c. D!\n- E; f") == ["A b.py c.", "D!", "- E;", "f"]
    assert sentences("go test ./... ok") == ["go test ./... ok"]


def test_a_path_is_one_word() -> None:
    assert words("Fix src/a_b.py, see-above!") == ["fix", "src/a_b.py", ",", "see-above"]


HOSTILE = [
    "a" * 20_000,
    "a-" * 10_000,
    "'a" * 10_000,
    "\u201c" * 20_000,
    "`" * 20_000,
    "` `` " * 4_000,
    "! " * 10_000,
    "!" * 20_000 + "x",
    "." * 20_000 + "x",
    "see the " * 2_500,
    "scroll up " * 2_000,
    "check the last " * 1_250,
    "continue " * 2_250,
    "we discussed the plan in " * 750,
    "tests pass " * 2_000 + "if",
    "pytest and " * 2_000,
    "if tests " * 2_000,
    "no errors " * 2_000,
    "1 of 2 tests " * 1_500,
    "继续" * 10_000 + "x",
    "测试" * 10_000,
    "x/" * 10_000,
    "_" * 20_000,
    "((((" * 5_000,
    "\ud800" * 10_000,
]


@pytest.mark.parametrize("rule", [vague, claims_pass, has_anchor])
@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text[:12]))
def test_time_grows_linearly_on_hostile_text(rule: Callable[[str], object], text: str) -> None:
    def spent(given: str) -> float:
        started = time.process_time()
        rule(given)
        return time.process_time() - started

    quarter = text[: len(text) // 4]
    rule(quarter)
    short = min(spent(quarter) for _ in range(2))
    assert min(spent(text) for _ in range(2)) < 8 * short + 0.02
