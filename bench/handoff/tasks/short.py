"""Short sessions: one or two requests, a handful of steps."""

from __future__ import annotations

from typing import Final

from bench.handoff.facts import Replaced, Truth
from bench.handoff.tasks.task import Task
from bench.handoff.work import Work


def fixed_and_done(work: Work) -> Truth:
    work.commits("src/export.py", "tests/test_export.py")
    check = "pytest -q tests/test_export.py"
    with work.run("codex") as talk:
        talk.asked(
            "The CSV export drops the last row when the input has no trailing newline. Please fix"
            " that and add a regression test."
        )
        talk.looked_around(3)
        talk.created("tests/test_export_tail.py")
        talk.ran(check, "FAILED tests/test_export.py::test_tail\n1 failed, 8 passed in 0.52s", 1)
        talk.edited("src/export.py")
        talk.ran(check, "9 passed in 0.41s")
        talk.answered(
            "The reader now keeps a last line without a newline; the regression test covers it."
        )
    return Truth(
        objective=("csv export & last row",),
        check=("tests/test_export.py & 9 passed|exit 0",),
        files=("src/export.py", "tests/test_export_tail.py"),
        replaced=(
            Replaced(
                old="tests/test_export.py & 1 failed|exit 1|exit code 1",
                new="tests/test_export.py & 9 passed|exit 0|then passed",
            ),
        ),
    )


def question_waits(work: Work) -> Truth:
    work.commits("src/orders.py")
    with work.run("claude") as talk:
        talk.asked("Add pagination to GET /orders. At most 100 entries a page.")
        talk.looked_around(5)
        talk.answered(
            "Before I write anything I need one decision, because clients will see it. Both"
            " of these fit the code as it is:\n\n- an opaque cursor, stable while orders arrive\n"
            "- plain offset and limit, simpler to debug\n\nWhich of the two do you want?"
        )
    return Truth(
        objective=("pagination & /orders",),
        open=("which of the two|opaque cursor & offset",),
    )


def failing_left(work: Work) -> Truth:
    work.commits("src/http/client.py", "src/http/retry.py")
    with work.run("codex") as talk:
        talk.asked("Upgrade the http client to httpx 3 and get `make test` green again.")
        talk.looked_around(4)
        talk.edited("src/http/client.py", "src/http/retry.py")
        talk.ran(
            "make test",
            talk.log(5000)
            + "\nFAILED tests/test_retry.py::test_backoff_cap - AssertionError: 32 != 30\n"
            "FAILED tests/test_retry.py::test_jitter - AssertionError\n"
            "2 failed, 118 passed in 14.20s\nmake: *** [Makefile:12: test] Error 1",
            2,
        )
        talk.answered(
            "The upgrade itself is in. What is left are the two retry tests: httpx 3 caps the"
            " backoff differently. I stopped before touching the retry policy."
        )
    return Truth(
        objective=("upgrade & httpx 3",),
        open=("retry & two retry tests|left|backoff",),
        check=("make test & failed|exit 2|exit code 2 or left & two retry tests",),
        files=("src/http/client.py", "src/http/retry.py"),
    )


def mended_in_the_end(work: Work) -> Truth:
    work.commits("web/cart.ts", "web/price.ts")
    check = "npm test -- --run cart"
    with work.run("claude") as talk:
        talk.asked("Cart totals are off by a cent for three or more items. Find it and mend it.")
        talk.looked_around(3)
        for number in (1, 2):
            talk.edited("web/cart.ts")
            talk.ran(check, talk.log(1500) + f"\nTests  {number} failed | 20 passed (21)", 1)
            talk.said("Closer. The rounding has to happen once, at the end.")
        talk.edited("web/price.ts")
        talk.ran(check, "Tests  21 passed (21)")
        talk.answered("Totals are summed in minor units now and rounded once, in web/price.ts.")
    return Truth(
        objective=("cart totals & cent",),
        check=("npm test -- --run cart & 21 passed|exit 0|passed",),
        files=("web/cart.ts", "web/price.ts"),
        replaced=(
            Replaced(
                old="npm test -- --run cart & failed|exit 1|exit code 1",
                new="npm test -- --run cart & 21 passed|exit 0|then passed",
            ),
        ),
    )


def stale_check(work: Work) -> Truth:
    work.commits("src/session.go", "src/session_test.go", "src/token.go")
    with work.run("claude") as talk:
        talk.asked("Session tokens must expire after 12 hours instead of 30 days.")
        talk.looked_around(4)
        talk.edited("src/session.go", "src/session_test.go")
        talk.ran("go test ./src/...", "ok  \texample.org/app/src\t0.412s")
        talk.said("That passes. One more thing: the refresh path used the old constant too.")
        talk.edited("src/token.go")
        talk.looked_around(2)
        talk.answered("Tokens expire after 12 hours on both paths.")
    return Truth(
        objective=("tokens & expire & 12 hours",),
        check=("go test & changed after or go test & ok|passed|exit 0 > src/token.go",),
        files=("src/session.go", "src/session_test.go", "src/token.go"),
    )


def stopped_and_corrected(work: Work) -> Truth:
    work.commits("src/middleware.py", "deploy/gateway.yaml")
    with work.run("codex") as talk:
        talk.asked("Add a rate limit of 20 requests per second for /search.")
        talk.looked_around(3)
        talk.said("I will put the rate limit into the Flask middleware.")
        talk.edited("src/middleware.py")
        talk.interrupted()
        talk.asked("No, not in the middleware. Rate limits belong into deploy/gateway.yaml.")
        talk.looked_around(2)
        talk.edited("deploy/gateway.yaml")
        talk.answered("The limit is in deploy/gateway.yaml. The middleware edit is still there.")
    return Truth(
        objective=("rate limit & /search",),
        files=("src/middleware.py", "deploy/gateway.yaml"),
        decision=("rate limits & deploy/gateway.yaml or limit is in deploy/gateway.yaml",),
        replaced=(Replaced(old="rate limit & flask middleware", new="deploy/gateway.yaml"),),
    )


def killed_in_a_command(work: Work) -> Truth:
    work.commits("db/schema.sql")
    with work.run("codex", killed=True) as talk:
        talk.asked("Split the address column of customers into street, zip and city, with data.")
        talk.looked_around(3)
        talk.edited("db/schema.sql")
        talk.created("db/migrations/0042_split_address.sql")
        talk.said("The migration is written; now I run it against the scratch database.")
        talk.cut_off("make migrate DATABASE=scratch")
    return Truth(
        objective=("split & address & customers",),
        open=("make migrate",),
        files=("db/schema.sql", "db/migrations/0042_split_address.sql"),
    )


def limit_reached(work: Work) -> Truth:
    work.commits("src/report.py")
    with work.run("claude") as talk:
        talk.asked("Make the monthly report group refunds by reason.")
        talk.looked_around(4)
        talk.edited("src/report.py")
        talk.answered("Refunds are grouped by reason in src/report.py.")
        talk.asked("Good. Now the same for chargebacks, and put both into the PDF.")
        talk.looked_around(2)
        talk.limited("You've hit your session limit · resets 6pm")
    return Truth(
        objective=("monthly report & refunds & reason",),
        open=("chargebacks & pdf",),
        files=("src/report.py",),
    )


def chinese(work: Work) -> Truth:
    work.commits("src/登录.py", "src/session.py")
    with work.run("claude") as talk:
        talk.asked("登录页面在会话过期后没有跳转，请修复，并且为过期的情况补一个测试。")
        talk.looked_around(3)
        talk.said("我先看会话中间件，跳转应该在那里发生。")
        talk.edited("src/登录.py", "src/session.py")
        talk.ran("pytest -q tests/登录", "1 failed, 6 passed in 0.80s", 1)
        talk.answered("跳转已经修好，但是过期测试还没有通过：时钟没有被替换。下一步是注入时钟。")
    return Truth(
        objective=("登录页面 & 过期",),
        open=("注入时钟",),
        check=("pytest -q tests/登录 & failed|exit 1|exit code 1 or 过期测试还没有通过",),
        files=("src/登录.py", "src/session.py"),
    )


def japanese(work: Work) -> Truth:
    work.commits("src/請求書.rb")
    with work.run("codex") as talk:
        talk.asked("請求書のPDFで消費税の端数処理が間違っています。切り捨てに直してください。")
        talk.looked_around(3)
        talk.edited("src/請求書.rb")
        talk.ran("bundle exec rspec spec/請求書_spec.rb", "12 examples, 2 failures", 1)
        talk.interrupted()
        talk.asked("待って、端数処理は四捨五入でお願いします。経理と確認しました。")
        talk.looked_around(2)
        talk.interrupted()
    return Truth(
        objective=("請求書 & 消費税",),
        open=("四捨五入",),
        check=("rspec spec/請求書_spec.rb & failed|exit 1|exit code 1|2 failures",),
        files=("src/請求書.rb",),
        decision=("端数処理 & 四捨五入",),
        replaced=(Replaced(old="切り捨て", new="四捨五入"),),
    )


def review_only(work: Work) -> Truth:
    work.commits("src/auth.py", "src/audit.py")
    with work.run("claude") as talk:
        talk.asked("Review the last two commits of the auth module. Do not change anything yet.")
        talk.looked_around(6)
        talk.answered(
            talk.prose(700)
            + "\n\nFindings:\n1. verify_token compares digests with ==, which leaks timing.\n"
            "2. audit_login swallows IOError, so failed writes go unnoticed.\n"
            "3. The docstring of logout is out of date.\n\n" + talk.prose(500)
        )
        talk.asked("Fix number 2 first, the audit_login one. The timing one needs a design talk.")
        talk.looked_around(1)
        talk.interrupted()
    return Truth(
        objective=("review & auth module",),
        open=("audit_login & fix|first",),
        decision=("timing & design talk",),
    )


def objective_given(work: Work) -> Truth:
    work.objective("Ship the 2.4 release with reproducible builds")
    work.commits("scripts/release.sh", "pyproject.toml")
    with work.run("codex") as talk:
        talk.asked("Start with the version numbers and the changelog.")
        talk.looked_around(2)
        talk.edited("pyproject.toml")
        talk.answered("The version is 2.4.0 now.")
        talk.asked("Next: set SOURCE_DATE_EPOCH in scripts/release.sh from the tag's date.")
        talk.edited("scripts/release.sh")
        talk.ran("./scripts/release.sh --check", "digest differs: wheel a91f / 77c2", 1)
        talk.answered("It is set, but two builds still differ: the wheel records file modes.")
    return Truth(
        objective=("2.4 release & reproducible",),
        open=("builds|wheel & differ",),
        check=("release.sh --check & failed|exit 1|exit code 1 or two builds still differ",),
        files=("pyproject.toml", "scripts/release.sh"),
    )


def terse(work: Work) -> Truth:
    work.commits("src/queue.rs", "src/worker.rs", "Cargo.toml")
    with work.run("claude") as talk:
        talk.asked("the worker leaks connections when a job panics, fix pls")
        talk.looked_around(4)
        talk.edited("src/worker.rs", "src/queue.rs")
        talk.ran(
            "cargo test",
            talk.log(2500) + "\ntest result: FAILED. 30 passed; 1 failed; 0 ignored; finished",
            101,
        )
        talk.looked_around(1)
        talk.answered("Done.", plain=True)
    return Truth(
        objective=("worker & leaks connections",),
        check=("cargo test & failed|exit 101|exit code 101",),
        files=("src/queue.rs", "src/worker.rs"),
    )


TASKS: Final = (
    Task("fixed and done", fixed_and_done),
    Task("question waits", question_waits),
    Task("failing check left", failing_left),
    Task("failing check mended", mended_in_the_end),
    Task("check older than the last edit", stale_check),
    Task("stopped and corrected", stopped_and_corrected),
    Task("killed in a command", killed_in_a_command),
    Task("provider's limit", limit_reached),
    Task("Chinese", chinese),
    Task("Japanese, changed mind", japanese),
    Task("review only", review_only),
    Task("objective given", objective_given),
    Task("terse", terse),
)
