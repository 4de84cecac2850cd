"""Minds that change: what was said first is not what holds at the end."""

from __future__ import annotations

from typing import Final

from bench.handoff.facts import Replaced, Truth
from bench.handoff.tasks.task import Task
from bench.handoff.work import Work


def port_changed_early(work: Work) -> Truth:
    work.commits("src/server.py", "deploy/unit.service", "docs/install.md", "src/health.py")
    with work.run("codex") as talk:
        talk.asked("Add a health endpoint to the gateway. It listens on port 8080, localhost only.")
        talk.looked_around(8)
        talk.edited("src/server.py")
        talk.answered("The endpoint answers on its own listener.")
        talk.asked("Sorry, 8080 is taken on the hosts. No, use port 9090 for it.")
        talk.looked_around(4)
        talk.edited("src/server.py")
        talk.answered("It listens on 9090 now.")
        for wish, path in (
            ("It should report the queue length too.", "src/health.py"),
            ("And the version, from the package metadata.", "src/health.py"),
            ("Put it into the systemd unit as a watchdog.", "deploy/unit.service"),
            ("Describe it in docs/install.md.", "docs/install.md"),
            ("The watchdog should wait 10 s before its first call.", "deploy/unit.service"),
        ):
            talk.asked(wish)
            talk.looked_around(10, largest=10_000)
            talk.edited(path)
            talk.answered("Done.")
        talk.asked("Last thing: an alert when the queue is longer than 500.")
        talk.looked_around(8)
        talk.interrupted()
    return Truth(
        objective=("health endpoint & gateway",),
        open=("alert & queue & 500",),
        files=("src/server.py", "deploy/unit.service", "docs/install.md", "src/health.py"),
        decision=("9090",),
        replaced=(Replaced(old="8080", new="9090"),),
    )


def library_changed_late(work: Work) -> Truth:
    work.commits("src/pdf.py", "requirements.txt")
    with work.run("claude") as talk:
        talk.asked("Render invoices as PDF. Use reportlab, we know it.")
        talk.looked_around(10)
        talk.edited("requirements.txt", "src/pdf.py")
        talk.looked_around(8)
        talk.answered("A first page renders with reportlab. Right-to-left text needs extra work.")
        talk.asked("Then drop reportlab and take weasyprint; the layout is HTML anyway.")
        talk.looked_around(6)
        talk.edited("requirements.txt")
        talk.ran("pytest -q tests/test_pdf.py", "3 failed, 1 passed in 1.70s", 1)
        talk.interrupted()
    return Truth(
        objective=("invoices & pdf",),
        open=("weasyprint",),
        check=("tests/test_pdf.py & failed|exit 1|exit code 1",),
        files=("src/pdf.py", "requirements.txt"),
        decision=("drop reportlab & weasyprint",),
        replaced=(Replaced(old="reportlab", new="weasyprint"),),
    )


def objective_dropped(work: Work) -> Truth:
    work.commits("src/feed.py", "src/mail.py", "src/digest.py")
    with work.run("codex") as talk:
        talk.asked("Write an RSS feed of the release notes, with full text.")
        talk.looked_around(12)
        talk.edited("src/feed.py")
        talk.answered("The feed renders.")
        talk.asked(
            "Stop, we do not want the feed any more. Instead the release notes go out by mail, as"
            " a monthly digest. Leave src/feed.py alone, somebody will remove it."
        )
        talk.looked_around(14)
        talk.edited("src/mail.py")
        talk.answered("Mails are built from the notes.")
        talk.asked("Group them by component, security fixes first.")
        talk.looked_around(18, largest=14_000)
        talk.edited("src/digest.py")
        talk.answered("They are grouped.")
        talk.asked("Only people who opted in get it, of course.")
        talk.looked_around(6)
        talk.edited("src/mail.py")
        talk.answered("Only opted-in people are asked for now.")
        talk.asked("And an unsubscribe link in the footer.")
        talk.looked_around(12, largest=12_000)
        talk.interrupted()
    return Truth(
        objective=("release notes & monthly digest",),
        open=("unsubscribe link",),
        files=("src/mail.py", "src/digest.py"),
        decision=("leave src/feed.py alone",),
        replaced=(Replaced(old="rss feed", new="do not want the feed|monthly digest"),),
    )


def cleared_claude(work: Work) -> Truth:
    work.commits("src/geo.py", "src/map.js")
    with work.run("claude") as talk:
        talk.asked("Tidy up the geo helpers, they have three ways to say latitude.")
        talk.looked_around(12)
        talk.edited("src/geo.py")
        talk.answered("There is one way now.")
        later = talk.cleared()
        later.asked("The map must show clusters instead of single pins above 200 markers.")
        later.looked_around(12)
        later.edited("src/map.js")
        later.ran("npm test -- map", "Tests  1 failed | 9 passed (10)", 1)
        later.answered("Clusters work, but the zoom test fails: it counts single pins.")
    return Truth(
        objective=("map & clusters & 200",),
        open=("zoom test",),
        check=("npm test -- map & failed|exit 1|exit code 1 or zoom test fails",),
        files=("src/map.js",),
        replaced=(Replaced(old="tidy up & geo helpers", new="map must show clusters"),),
    )


def cleared_codex(work: Work) -> Truth:
    work.commits("src/rates.py", "src/quota.py")
    with work.run("codex") as talk:
        talk.asked("Currency rates are fetched twice per page. Fetch them once.")
        talk.looked_around(10)
        talk.edited("src/rates.py")
        talk.answered("They are fetched once per request now.")
        later = talk.cleared()
        later.asked("Give every tenant a storage quota of 5 GB, enforced on upload.")
        later.looked_around(14)
        later.edited("src/quota.py")
        later.planned(["Count bytes per tenant"], ["Refuse uploads over quota"], ["Admin override"])
        later.looked_around(12, largest=12_000)
        later.interrupted()
    return Truth(
        objective=("tenant & storage quota",),
        open=("refuse uploads over quota", "admin override"),
        files=("src/quota.py",),
        replaced=(Replaced(old="currency rates & fetched twice", new="storage quota"),),
    )


def decided_twice(work: Work) -> Truth:
    work.commits("src/store.py", "docker-compose.yml", "src/repo.py")
    with work.run("claude") as talk:
        talk.asked("Persist the sessions. SQLite will do.")
        talk.looked_around(10)
        talk.edited("src/store.py")
        talk.answered("Sessions are in an SQLite file.")
        talk.asked("We run two instances, so make it Postgres instead of SQLite.")
        talk.looked_around(16, largest=10_000)
        talk.edited("src/store.py", "docker-compose.yml")
        talk.answered("Postgres it is, the compose file has it.")
        talk.asked(
            "Ops says no more databases. Redis is there already, use Redis and not Postgres."
        )
        talk.looked_around(16, largest=10_000)
        talk.edited("src/repo.py")
        talk.answered("Reads go to Redis.")
        talk.asked("Expire them after a day.")
        talk.looked_around(6)
        talk.edited("src/repo.py")
        talk.answered("Entries expire after a day. What is left is the removal of the old tables.")
    return Truth(
        objective=("persist & sessions",),
        open=("removal of the old tables",),
        files=("src/store.py", "docker-compose.yml", "src/repo.py"),
        decision=("use redis",),
        replaced=(
            Replaced(old="sqlite", new="redis"),
            Replaced(old="postgres", new="redis"),
        ),
    )


def reopened(work: Work) -> Truth:
    work.commits("src/upload.go", "src/upload_test.go")
    with work.run("codex") as talk:
        talk.asked("Uploads above 100 MB fail with a timeout. Make them work.")
        talk.looked_around(10)
        talk.edited("src/upload.go")
        talk.ran("go test ./src/...", "ok  \texample.org/app/src\t1.120s")
        talk.answered("Uploads are streamed now, any size works. All tests pass.")
        talk.asked("It does not. A file of 300 MB still fails on staging, with a 413 from nginx.")
        talk.looked_around(12, largest=9000)
        talk.edited("src/upload_test.go")
        talk.ran("go test ./src/...", talk.log(3000) + "\nFAIL\texample.org/app/src\t30.01s", 1)
        talk.said("Now the test reproduces it.")
        talk.interrupted()
    return Truth(
        objective=("uploads & 100 mb & timeout",),
        open=("300 mb & 413",),
        check=("go test & failed|exit 1|exit code 1",),
        files=("src/upload.go", "src/upload_test.go"),
        replaced=(
            Replaced(
                old="go test & ok|passed|exit 0",
                new="go test & failed|exit 1|exit code 1",
            ),
        ),
    )


TASKS: Final = (
    Task("port changed early", port_changed_early),
    Task("library changed late", library_changed_late),
    Task("objective dropped", objective_dropped),
    Task("cleared, claude", cleared_claude),
    Task("cleared, codex", cleared_codex),
    Task("decided twice", decided_twice),
    Task("reopened", reopened),
)
