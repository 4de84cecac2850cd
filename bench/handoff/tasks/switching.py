"""Work that goes from one harness to another, some of it more than once."""

from __future__ import annotations

from typing import Final

from bench.handoff.facts import Replaced, Truth
from bench.handoff.tasks.task import Task
from bench.handoff.work import Work


def once(work: Work) -> Truth:
    work.commits("src/scheduler.py", "src/lock.py")
    with work.run("codex") as talk:
        talk.asked("Two schedulers must never run the same job. Use advisory locks.")
        talk.looked_around(21)
        talk.edited("src/lock.py")
        talk.answered("The lock is in src/lock.py; the scheduler does not take it yet.")
    with work.run("claude") as talk:
        talk.asked("Go on: let the scheduler take the lock.")
        talk.looked_around(15)
        talk.edited("src/scheduler.py")
        talk.ran("pytest -q tests/test_scheduler.py", "1 failed, 17 passed in 4.0s", 1)
        talk.answered("It takes the lock. One test fails because it is never released on errors.")
    return Truth(
        objective=("two schedulers & same job",),
        open=("never released on errors",),
        check=("tests/test_scheduler.py & failed|exit 1|exit code 1 or one test fails",),
        files=("src/lock.py", "src/scheduler.py"),
        decision=("advisory locks",),
    )


def there_and_back(work: Work) -> Truth:
    work.commits("src/theme.py", "src/render.py", "src/assets.py")
    with work.run("claude") as talk:
        talk.asked("Themes may be installed from a zip file. Nothing outside the theme folder.")
        talk.looked_around(18)
        talk.planned(
            ["Sketch the format"],
            ["Unpack safely, refuse paths with .."],
            ["Signature check", "Uninstall"],
        )
        talk.edited("src/theme.py")
        talk.answered("Unpacking is begun.")
    with work.run("codex") as talk:
        talk.asked("Finish the safe unpacking. Symlinks are refused too.")
        talk.looked_around(21, largest=9000)
        talk.edited("src/assets.py")
        talk.answered("Unpacking refuses symlinks and paths that leave the folder.")
    with work.run("claude", again=True) as talk:
        talk.asked("Now the signature check.")
        talk.planned(
            ["Sketch the format", "Unpack safely, refuse paths with .."],
            ["Signature check"],
            ["Uninstall"],
        )
        talk.looked_around(24, largest=9000)
        talk.edited("src/render.py")
        talk.interrupted()
    return Truth(
        objective=("themes & zip",),
        open=("signature check", "uninstall"),
        files=("src/theme.py", "src/assets.py", "src/render.py"),
        decision=("symlinks & refuse",),
    )


def plan_of_the_other(work: Work) -> Truth:
    work.commits("src/invite.py", "src/team.py", "src/roles.py")
    with work.run("codex") as talk:
        talk.asked("Teams: invite people by mail, roles owner and member, leave a team.")
        talk.looked_around(15)
        talk.planned(
            ["Tables for teams"], ["Invitations by mail"], ["Role checks", "Leaving a team"]
        )
        talk.edited("src/team.py", "src/invite.py")
        talk.looked_around(18)
        talk.interrupted()
    with work.run("claude") as talk:
        talk.asked("The invitation mail needs a link that expires after 7 days. Do that first.")
        talk.looked_around(24, largest=9000)
        talk.edited("src/invite.py")
        talk.ran("pytest -q tests/test_invite.py", "6 passed in 0.7s")
        talk.answered("Links expire after 7 days.")
    return Truth(
        objective=("teams & invite people",),
        open=("role checks", "leaving a team"),
        check=("tests/test_invite.py & passed|exit 0",),
        files=("src/team.py", "src/invite.py"),
    )


def four_runs(work: Work) -> Truth:
    work.commits("src/tokens.rs", "src/scope.rs", "src/audit.rs", "README.md")
    with work.run("claude") as talk:
        talk.asked("API tokens need scopes: read, write, admin. Old tokens count as read.")
        talk.looked_around(18)
        talk.edited("src/tokens.rs")
        talk.answered("Scopes are stored.")
    with work.run("codex") as talk:
        talk.asked("Enforce the scopes in the handlers.")
        talk.looked_around(18)
        talk.edited("src/scope.rs")
        talk.ran("cargo test", "test result: FAILED. 21 passed; 4 failed; 0 ignored", 101)
        talk.answered("Enforced. Four tests use tokens without scopes and fail.")
    with work.run("claude") as talk:
        talk.asked("Old tokens should count as write after all, too many scripts break.")
        talk.looked_around(15)
        talk.edited("src/tokens.rs")
        talk.ran("cargo test", "test result: ok. 25 passed; 0 failed; 0 ignored")
        talk.answered("Old tokens have write now and all 25 tests pass.")
    with work.run("codex") as talk:
        talk.asked("Log every refused call to the audit table.")
        talk.looked_around(27, largest=12_000)
        talk.edited("src/audit.rs")
        talk.looked_around(12)
        talk.interrupted()
    return Truth(
        objective=("api tokens & scopes",),
        open=("refused call & audit",),
        check=("cargo test & changed after or cargo test & 25 passed|exit 0 > src/audit.rs",),
        files=("src/tokens.rs", "src/scope.rs", "src/audit.rs"),
        decision=("old tokens & write",),
        replaced=(
            Replaced(old="old tokens count as read", new="old tokens & count as write|have write"),
            Replaced(
                old="cargo test & failed|exit 101|exit code 101",
                new="cargo test & 25 passed|exit 0|then passed",
            ),
        ),
    )


def killed_then_another(work: Work) -> Truth:
    work.commits("src/thumb.py", "src/storage.py")
    with work.run("claude", killed=True) as talk:
        talk.asked("Thumbnails for videos: the frame at 10 percent, 320 pixels wide, as WebP.")
        talk.looked_around(18)
        talk.edited("src/thumb.py")
        talk.cut_off("pytest -q tests/test_thumb.py")
    with work.run("codex") as talk:
        talk.asked("It was killed; look what is there and go on.")
        talk.looked_around(18, largest=9000)
        talk.edited("src/storage.py")
        talk.ran("pytest -q tests/test_thumb.py", "2 failed, 3 passed in 8.4s", 1)
        talk.answered("Two thumbnail tests fail: ffmpeg is missing in the image. Install it?")
    return Truth(
        objective=("thumbnails & videos",),
        open=("ffmpeg & install|missing",),
        check=("tests/test_thumb.py & failed|exit 1|exit code 1 or two thumbnail tests fail",),
        files=("src/thumb.py", "src/storage.py"),
    )


TASKS: Final = (
    Task("switched once", once),
    Task("there and back", there_and_back),
    Task("plan of the other harness", plan_of_the_other),
    Task("four runs", four_runs),
    Task("killed, then another", killed_then_another),
)
