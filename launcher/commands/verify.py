"""`workstream verify`: check the ledger."""

from __future__ import annotations

import dataclasses

import click


@click.command("verify")
@click.option("--workstream", metavar="NAME", help="Only this workstream of the repository.")
@click.option("--rebuild-index", is_flag=True, help="Make the search index anew, then check.")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON envelope.")
def command(*, workstream: str | None, rebuild_index: bool, as_json: bool) -> int:
    """Derive chain, digests and index again and compare. Exit code 65 when something is wrong."""
    from launcher import exit_codes
    from launcher.output import emit_json, plural, say
    from launcher.place import here
    from launcher.resolve import choose
    from ledger import index
    from ledger.store import open_store
    from ledger.verify import verify

    place = here()
    with open_store(place.home, "rw") as store:
        if rebuild_index:
            say(f"search index made anew: {plural(index.rebuild(store), 'event')}")
        chosen = None if workstream is None else choose(store, place, name=workstream).workstream
        findings = verify(store, chosen)
    code = exit_codes.FINDINGS if findings else exit_codes.OK
    if as_json:
        data = {"ok": not findings, "findings": [dataclasses.asdict(f) for f in findings]}
        errors = [
            {"code": f.code, "message": f"{f.where}: {f.detail}", "detail": None, "next": f.fix}
            for f in findings
        ]
        emit_json("verify", data, errors)
        return code
    for finding in findings:
        say(f"{finding.code} in {finding.where}: {finding.detail}\n  {finding.fix}")
    if not findings:
        say("everything was derived again and agrees")
    return code
