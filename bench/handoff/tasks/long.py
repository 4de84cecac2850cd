"""Long sessions: many steps, huge outputs, compaction, subagents, plans that are half done."""

from __future__ import annotations

from typing import Final

from bench.handoff.facts import Truth
from bench.handoff.tasks.task import Task
from bench.handoff.work import Work


def plan_half_done(work: Work) -> Truth:
    work.commits("src/importer.py", "src/model.py")
    done = ["Read the vendor's format notes", "Parse header records into model.Header"]
    doing = ["Parse line items, including negative quantities"]
    later = ["Reject files with a wrong checksum", "Document the format in docs/vendor.md"]
    with work.run("codex") as talk:
        talk.asked("Write an importer for the vendor's EDI files, as described in notes/edi.txt.")
        talk.looked_around(16)
        talk.planned([], [done[0]], [done[1], *doing, *later])
        talk.looked_around(32)
        talk.edited("src/model.py")
        talk.planned(done[:1], [done[1]], [*doing, *later])
        talk.looked_around(36)
        talk.edited("src/importer.py")
        talk.planned(done, doing, later)
        talk.looked_around(40, largest=20_000)
        talk.interrupted()
    return Truth(
        objective=("importer & edi",),
        open=("negative quantities", "wrong checksum", "docs/vendor.md"),
        files=("src/importer.py", "src/model.py"),
    )


def todos_half_done(work: Work) -> Truth:
    work.commits("app/models/user.rb", "app/mailers/digest.rb", "config/schedule.rb")
    with work.run("claude", killed=True) as talk:
        talk.asked("Send each user a weekly digest, in their own time zone, Monday 8 am.")
        talk.looked_around(20)
        steps = ["Add time_zone to users", "Build the digest mailer", "Schedule per zone"]
        talk.planned([], steps[:1], [*steps[1:], "Skip users who unsubscribed"])
        talk.edited("app/models/user.rb")
        talk.looked_around(32)
        talk.planned(steps[:1], steps[1:2], [steps[2], "Skip users who unsubscribed"])
        talk.edited("app/mailers/digest.rb")
        talk.looked_around(56, largest=24_000)
        talk.cut_off("bundle exec rspec spec/mailers")
    return Truth(
        objective=("weekly digest & time zone",),
        open=("digest mailer", "schedule per zone", "users who unsubscribed"),
        files=("app/models/user.rb", "app/mailers/digest.rb"),
    )


def huge_outputs(work: Work) -> Truth:
    work.commits("src/cache.c", "src/cache.h", "src/evict.c")
    with work.run("codex") as talk:
        talk.asked("The cache evicts hot entries under load. Find out why; a fix if it is small.")
        talk.looked_around(24)
        talk.edited("src/evict.c", "src/cache.h")
        talk.ran("ctest --output-on-failure", "50% tests passed, 1 tests failed out of 2", 8)
        talk.said("The eviction test fails: last_used is only written on insert, never on a hit.")
        for size in (60_000, 30_000, 48_000):
            talk.ran("./build/loadgen --trace --seconds 30", talk.log(size))
            talk.looked_around(8, largest=12_000)
        talk.interrupted()
    return Truth(
        objective=("cache evicts & hot",),
        open=("evicts hot entries & find out|why",),
        check=("ctest & failed|exit 8|exit code 8",),
        files=("src/evict.c", "src/cache.h"),
        decision=("last_used & never on a hit",),
    )


def many_requests(work: Work) -> Truth:
    work.commits("ui/table.tsx", "ui/filter.tsx", "ui/theme.css", "ui/menu.tsx")
    with work.run("claude") as talk:
        talk.asked("Rework the admin table: sortable columns, a filter row, keyboard navigation.")
        talk.looked_around(24)
        talk.edited("ui/table.tsx")
        talk.answered("Columns sort on a click now.")
        talk.asked("Nice. Now the filter row. It has to survive a reload.")
        talk.looked_around(20)
        talk.edited("ui/filter.tsx")
        talk.answered("The filter row is there and kept in the address.")
        talk.asked(
            "Before I forget it: the export button must respect the filter too. Not now, but"
            " before we merge this."
        )
        talk.answered("Noted, I will come back to the export button before the merge.")
        for topic, path in (
            ("dark colours for the header row", "ui/theme.css"),
            ("a wider menu on tablets", "ui/menu.tsx"),
            ("the focus ring, it is invisible", "ui/theme.css"),
        ):
            talk.asked(f"Next is {topic}.")
            talk.looked_around(28, largest=12_000)
            talk.edited(path)
            talk.answered("Done, see the styles.")
        talk.asked("Now arrow keys between the rows.")
        talk.looked_around(24)
        talk.edited("ui/table.tsx")
        talk.ran("npm run lint", "✖ 3 problems (3 errors, 0 warnings)", 1)
        talk.answered("Arrow keys move between rows. The linter has three complaints left.")
    return Truth(
        objective=("rework & admin table",),
        open=("export button & filter",),
        check=("npm run lint & failed|exit 1|exit code 1 or linter has three complaints",),
        files=("ui/table.tsx", "ui/filter.tsx", "ui/theme.css", "ui/menu.tsx"),
    )


def compacted_claude(work: Work) -> Truth:
    work.commits("src/crawler.py", "src/robots.py", "src/fetch.py")
    with work.run("claude") as talk:
        talk.asked(
            "Make the crawler polite: obey robots.txt, one request at a time per host, and never"
            " more than 2 MB a page."
        )
        talk.looked_around(48)
        talk.edited("src/robots.py", "src/crawler.py")
        talk.ran("pytest -q", "2 failed, 40 passed in 3.11s", 1)
        talk.said("Two tests of the old fetch order fail, as expected. They need the new queue.")
        talk.looked_around(24)
        talk.compacted("The crawler is being made polite. " + talk.prose(3000))
        talk.looked_around(64, largest=16_000)
        talk.edited("src/fetch.py")
        talk.looked_around(20)
        talk.answered(
            "Hosts have queues of their own now. Still open: the 2 MB limit, it needs streaming"
            " reads in src/fetch.py, and the two fetch order tests."
        )
    return Truth(
        objective=("crawler polite & robots.txt",),
        open=("2 mb & open|limit",),
        check=("pytest -q & failed|exit 1|exit code 1 or still open & two fetch order tests",),
        files=("src/robots.py", "src/crawler.py", "src/fetch.py"),
    )


def compacted_codex(work: Work) -> Truth:
    work.commits("lib/parser.ex", "lib/lexer.ex", "mix.exs")
    with work.run("codex") as talk:
        talk.asked("Give the template language `unless` blocks, with proper error positions.")
        talk.looked_around(40)
        talk.edited("lib/lexer.ex")
        talk.planned(
            ["Tokens for unless"], ["Grammar rule"], ["Error positions", "Guide chapter on unless"]
        )
        talk.looked_around(40, largest=16_000)
        talk.compacted("The template language gets a new block. " + talk.prose(2500))
        talk.edited("lib/parser.ex")
        talk.looked_around(56, largest=16_000)
        talk.ran("mix test", "** (CompileError) lib/parser.ex:88: undefined function", 1)
        talk.interrupted()
    return Truth(
        objective=("template language & unless",),
        open=("grammar rule", "error positions", "guide chapter"),
        check=("mix test & failed|exit 1|exit code 1",),
        files=("lib/lexer.ex", "lib/parser.ex"),
    )


def subagents_claude(work: Work) -> Truth:
    work.commits("src/billing.py", "src/tax.py", "tests/test_tax.py", "docs/tax.md")
    with work.run("claude") as talk:
        talk.asked("Support reverse charge VAT for business customers in other EU countries.")
        talk.looked_around(16)
        with talk.helped("Implement the tax rules", "The rules are in, with tests.") as child:
            child.looked_around(20)
            child.edited("src/tax.py", "tests/test_tax.py")
            child.ran("pytest -q tests/test_tax.py", "1 failed, 11 passed in 0.90s", 1)
        talk.looked_around(24, largest=14_000)
        with talk.helped("Update the guide", "The guide has a section on it now.") as child:
            child.edited("docs/tax.md")
        talk.edited("src/billing.py")
        talk.looked_around(20)
        talk.answered("Reverse charge is wired into billing. The VAT id is not validated yet.")
    return Truth(
        objective=("reverse charge & vat",),
        open=("vat id & not validated",),
        check=("pytest -q tests/test_tax.py & failed|exit 1|exit code 1",),
        files=("src/tax.py", "tests/test_tax.py", "docs/tax.md", "src/billing.py"),
    )


def subagents_codex(work: Work) -> Truth:
    work.commits("src/search.py", "src/index.py", "bench/queries.txt")
    with work.run("codex") as talk:
        talk.asked("Search must find compound words by their parts, Haustür by Tür for instance.")
        talk.looked_around(20)
        with talk.helped("Split compounds in the index", "Splitting is in place.") as child:
            child.edited("src/index.py")
            child.ran("python -m pytest tests/test_index.py", "8 passed in 1.02s", 0)
        talk.looked_around(36, largest=16_000)
        talk.edited("src/search.py")
        talk.answered(
            "Parts are found. Ranking still puts the short word first; see src/search.py."
        )
        talk.asked("Then rank exact matches above parts, please.")
        talk.looked_around(16)
        talk.interrupted()
    return Truth(
        objective=("compound words & parts",),
        open=("rank exact matches",),
        files=("src/index.py", "src/search.py"),
    )


def pasted_log(work: Work) -> Truth:
    work.commits("src/pool.py")
    with work.run("claude") as talk:
        talk.asked(
            "Since Tuesday the pool runs dry every night. Here is the log of the last one:\n\n"
            + talk.log(20_000)
            + "\n\nI only want to know which job holds on to its connections, no fix yet."
        )
        talk.looked_around(32, largest=9000)
        talk.answered("It is nightly_rollup: it opens a cursor per tenant and closes none.")
        talk.asked("Then give it one cursor for all tenants, in src/pool.py.")
        talk.looked_around(12)
        talk.edited("src/pool.py")
        talk.ran("pytest -q tests/test_pool.py", "14 passed in 2.20s")
        talk.answered("nightly_rollup uses one cursor now, the pool test passes.")
    return Truth(
        objective=("pool runs dry",),
        check=("tests/test_pool.py & passed|exit 0 or the pool test passes",),
        files=("src/pool.py",),
        decision=("nightly_rollup & cursor",),
    )


def chatty(work: Work) -> Truth:
    work.commits("src/api.py", "src/schema.py", "src/errors.py")
    with work.run("codex") as talk:
        talk.asked("Bring the public API under /v2: same resources, errors as RFC 9457 problems.")
        talk.looked_around(16)
        talk.edited("src/api.py")
        talk.answered("The routes exist. Shall I keep /v1 as it is?")
        talk.asked("Keep /v1 frozen until June, clients are slow. Only security fixes there.")
        talk.looked_around(12)
        talk.edited("src/errors.py")
        talk.answered("Problems are returned by /v2 only. The schema is next, go on?")
        for reply in ("yes", "ok", "go on", "looks good, continue"):
            talk.asked(reply)
            talk.looked_around(16, largest=9000)
            talk.edited("src/schema.py")
            talk.answered("One more resource is described in the schema. Shall I go on?")
        talk.asked("yes please")
        talk.looked_around(20, largest=9000)
        talk.interrupted()
    return Truth(
        objective=("public api & /v2",),
        open=("yes please & one more resource|shall i go on",),
        files=("src/api.py", "src/errors.py", "src/schema.py"),
        decision=("/v1 & frozen & june",),
    )


def many_files(work: Work) -> Truth:
    paths = tuple(
        f"src/views/{name}.py" for name in ["account", "basket", "coupon", "invoice", "login"]
    )
    more = tuple(
        f"src/forms/{name}.py" for name in ["account", "basket", "coupon", "invoice", "login"]
    )
    work.commits(*paths, *more, "src/urls.py")
    with work.run("claude") as talk:
        talk.asked("Replace the home-grown form validation by pydantic models, everywhere.")
        talk.looked_around(24)
        for path in (*paths, *more, "src/urls.py"):
            talk.read(path, 2500)
            talk.edited(path)
        talk.created("src/models/common.py")
        talk.ran("mypy src", "src/forms/coupon.py:3: error: bad\nFound 1 error in 1 file", 1)
        talk.looked_around(20, largest=12_000)
        talk.answered("All forms are models now. mypy has one complaint, in src/forms/coupon.py.")
    return Truth(
        objective=("form validation & pydantic",),
        open=("mypy & complaint or mypy & mend or mypy & failed",),
        check=("mypy src & failed|exit 1|exit code 1 or mypy has one complaint",),
        files=(*paths, *more, "src/urls.py", "src/models/common.py"),
    )


def long_request(work: Work) -> Truth:
    work.commits("sync/client.kt", "sync/conflict.kt")
    with work.run("codex") as talk:
        talk.asked(
            "Offline sync for the notes app. What matters to me:\n"
            "- conflicts are shown to the user, never merged silently\n"
            "- a note is at most 1 MB, larger ones are refused with a message\n"
            "- no new dependencies, we ship on old devices\n\n" + talk.prose(1800) + "\n\n"
            "Start with the conflict detection, the transport comes in the next session."
        )
        talk.looked_around(36)
        talk.edited("sync/conflict.kt")
        talk.looked_around(36, largest=14_000)
        talk.edited("sync/client.kt")
        talk.ran("./gradlew test", "18 tests completed, 3 failed\nBUILD FAILED in 41s", 1)
        talk.looked_around(12)
        talk.answered("Conflicts are detected by version vectors. Three tests need a fake clock.")
    return Truth(
        objective=("offline sync & notes app",),
        open=("transport & next session",),
        check=("gradlew test & failed|exit 1|exit code 1 or three tests need",),
        files=("sync/client.kt", "sync/conflict.kt"),
        decision=("conflicts & never merged silently",),
    )


TASKS: Final = (
    Task("plan half done", plan_half_done),
    Task("todos half done, killed", todos_half_done),
    Task("huge outputs", huge_outputs),
    Task("many requests", many_requests),
    Task("compacted, claude", compacted_claude),
    Task("compacted, codex", compacted_codex),
    Task("subagents, claude", subagents_claude),
    Task("subagents, codex", subagents_codex),
    Task("pasted log", pasted_log),
    Task("chatty", chatty),
    Task("many files", many_files),
    Task("long request", long_request),
)
