"""More than a handover can hold: what is lost here is to be read in the history."""

from __future__ import annotations

from typing import Final

from bench.handoff.facts import Replaced, Truth
from bench.handoff.tasks.task import Task
from bench.handoff.work import Work

_WISHES: Final = (
    "Seat maps need a legend.",
    "The order page should show the hall, not only its number.",
    "Sort the events by date, the nearest first.",
    "A search by artist would be good, without accents.",
    "Mail the tickets as an attachment, not as a link.",
    "Refunds go back to the card that was used.",
    "Waiting lists: at most 50 people per event.",
    "The box office wants to see who printed a ticket.",
    "Bigger buttons on the scanner page, people wear gloves.",
    "Vouchers may be combined with the student price.",
    "Hide events whose sale has not begun.",
    "The newsletter box must not be ticked by default.",
)


def marathon(work: Work) -> Truth:
    names = ("seats", "orders", "events", "search", "mail", "refunds", "waiting", "scanner")
    files = tuple(f"src/{name}.py" for name in names)
    work.commits(*files, "src/legacy.py", "src/ports.py")
    wishes = iter(_WISHES)
    with work.run("codex") as talk:
        talk.asked("Rebuild the ticket shop on the new framework, page by page.")
        talk.looked_around(10)
        talk.answered("I begin with the seat map.")
        talk.asked("One rule for all of it: src/legacy.py stays as it is, the till reads it.")
        talk.answered("I will leave src/legacy.py alone.")
        talk.asked("The scanner service runs on port 7001.")
        talk.edited("src/ports.py")
        talk.answered("Noted in src/ports.py.")
    for number, harness in enumerate(("claude", "codex", "claude", "codex")):
        with work.run(harness, again=number > 1) as talk:
            for _ in range(3):
                talk.asked(next(wishes))
                talk.looked_around(14, largest=9000)
                talk.edited(files[(number * 2) % len(files)], files[(number * 2 + 1) % len(files)])
                talk.answered("Done.")
            if number == 1:
                talk.asked("The scanner moves to port 7400, 7001 is the till's.")
                talk.edited("src/ports.py")
                talk.answered("Changed.")
            if number == 2:
                talk.ran("pytest -q tests/test_refunds.py", "1 failed, 30 passed in 9.1s", 1)
                talk.answered("One refund test fails for partial refunds.")
                talk.asked("Leave that for later, after the mails.")
                talk.answered("Later then.")
    with work.run("claude", again=True) as talk:
        talk.asked("Now the mails in the customer's language.")
        talk.looked_around(20, largest=9000)
        talk.edited("src/mail.py")
        talk.interrupted()
    return Truth(
        objective=("rebuild & ticket shop",),
        open=("customer's language",),
        check=("tests/test_refunds.py & failed|exit 1|exit code 1 or one refund test fails",),
        files=(*files, "src/ports.py"),
        decision=("src/legacy.py & stays|alone", "7400"),
        replaced=(Replaced(old="7001", new="7400"),),
    )


def found_on_the_way(work: Work) -> Truth:
    work.commits("src/clock.c", "src/sched.c", "src/tick.c")
    with work.run("codex") as talk:
        talk.asked("Timers drift by about a second a day. Find the reason and correct it.")
        talk.looked_around(30)
        talk.said("Found it: tick_advance rounds towards zero on every wrap of the counter.")
        talk.looked_around(60, largest=14_000)
        talk.edited("src/tick.c", "src/clock.c")
        talk.said("Rounding is right now. What I have not looked at is the leap handling.")
        talk.looked_around(50, largest=14_000)
        talk.interrupted()
    return Truth(
        objective=("timers drift",),
        open=("leap handling", "timers drift & correct"),
        files=("src/tick.c", "src/clock.c"),
        decision=("tick_advance & rounds towards zero",),
    )


def sixty_files(work: Work) -> Truth:
    parts = ("billing", "catalog", "checkout", "search", "support", "users")
    files = [f"services/{part}/handlers/{n:02d}_{part}.go" for part in parts for n in range(10)]
    work.commits(*files, "go.mod")
    plan = [f"Move {part} to the new router" for part in parts]
    later = ["Delete the old router", "Measure the latency again", "Tell the on-call people"]
    with work.run("claude") as talk:
        talk.asked("Move all services to the new router. The old one goes when nobody uses it.")
        talk.looked_around(8)
        for number, part in enumerate(parts):
            talk.planned(plan[:number], [plan[number]], [*plan[number + 1 :], *later])
            mine = [file for file in files if f"/{part}/" in file]
            for file in mine:
                talk.read(file, 1200)
                talk.edited(file)
            talk.ran(f"go test ./services/{part}/...", f"ok  \texample.org/{part}\t0.4s")
        talk.planned(plan, later[:1], later[1:])
        talk.looked_around(12, largest=9000)
        talk.interrupted()
    return Truth(
        objective=("all services & new router",),
        open=("delete the old router", "latency again", "on-call people"),
        check=("go test ./services/users & ok|passed|exit 0",),
        files=tuple(files),
        decision=("old one goes when nobody uses it",),
    )


TASKS: Final = (
    Task("marathon", marathon),
    Task("found on the way", found_on_the_way),
    Task("sixty files", sixty_files),
)
