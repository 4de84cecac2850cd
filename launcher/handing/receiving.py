"""`handoff receive`, `acknowledge` and `outcome`."""

from __future__ import annotations

import os
import shlex

import click

from handoffs.models import (
    CheckStatus,
    Confirmation,
    LiveChecks,
    Outcome,
    OutcomeCheck,
    OutcomeStatus,
    ReceiptStatus,
)
from handoffs.store import answering as answers
from handoffs.store import receiving
from handoffs.store.answering import Answer
from handoffs.store.receiving import Received
from launcher.handing.answered import receipt_document
from launcher.handing.bench import (
    Bench,
    answering,
    of_reading,
    or_receipt,
    our_command,
    writing,
)
from launcher.handing.documents import lines, lost, received_document
from launcher.output import emit_json, say
from launcher.reading import answer, reading
from ledger.errors import UnavailableError, UsageError

QUESTIONS = tuple(LiveChecks._fields)


@click.command("receive")
@click.argument("name", default="latest")
@click.option("--workstream", metavar="WS", help="Which workstream of the repository.")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON envelope.")
def receive(*, name: str, workstream: str | None, as_json: bool) -> int:
    """Read NAME (`latest`, a revision, a prepared id) with the state of its evidence."""

    def work() -> int:
        with reading(workstream) as now:
            bench = of_reading(now)
            received = receiving.receive(bench.store, bench.workstream, name, bench.worktree)
            if as_json:
                empty = {"state": "no_handoff"}
                emit_json("handoff", empty if received is None else received_document(received))
            elif received is None:
                nothing = f"no_handoff: nothing was committed in {bench.workstream.name} yet"
                say(nothing + lost(bench.store, bench.workstream))
            else:
                answer("\n".join(lines(received)))
        return 0

    return answering(work, as_json=as_json)


@click.command("acknowledge")
@click.argument("target")
@click.argument("status", type=click.Choice([str(item) for item in ReceiptStatus]))
@click.option("--confirmed", metavar="LIST", default="", help="live_state,capability,authorization")
@click.option("--failed", metavar="LIST", default="", help="Those of them that do not hold.")
@click.option("-m", "--message", metavar="TEXT", help="Words for the sender.")
@click.option("--key", metavar="KEY", help="Key of this answer; the same key is the same answer.")
@click.option("--superseded", is_flag=True, help="A superseded revision is meant.")
@click.option("--workstream", metavar="WS", help="Which workstream of the repository.")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON envelope.")
def acknowledge(
    *,
    target: str,
    status: str,
    confirmed: str,
    failed: str,
    message: str | None,
    key: str | None,
    superseded: bool,
    workstream: str | None,
    as_json: bool,
) -> int:
    """Accept TARGET, ask back (needs_clarification) or decline it. It executes nothing."""
    checks = _checks(confirmed, failed) if status == ReceiptStatus.ACCEPTED else None
    chosen = key or f"{_caller()}-{target}-{status}"

    def given(bench: Bench) -> Answer:
        return Answer(
            receipt_key=chosen,
            receiver=bench.author,
            session=bench.session,
            status=ReceiptStatus(status),
            checks=checks,
            message=message,
            superseded=superseded,
            exact=target.strip() != "latest",
            run=None if bench.run is None else bench.run.id,
        )

    def work() -> int:
        with writing(workstream, refresh=True) as bench:
            receipt, existed = answers.acknowledge(
                bench.store,
                bench.workstream,
                _received(bench, target),
                given(bench),
                token=bench.token,
                holder=bench.holder,
            )
        if as_json:
            emit_json("handoff", {**receipt_document(receipt), "existed": existed})
        else:
            say(f"{receipt.status}: {target} (receipt {receipt.receipt_key})")
        return 0

    def payload() -> dict[str, object]:
        return {
            "do": "acknowledge",
            "target": target,
            "status": status,
            "checks": None if checks is None else {k: str(v) for k, v in checks._asdict().items()},
            "message": message,
            "key": chosen,
            "superseded": superseded,
        }

    def examine(bench: Bench) -> None:
        answers.examine(bench.store, bench.workstream, _received(bench, target), given(bench))

    def answered() -> int:
        code = or_receipt(work, payload, workstream, examine=examine)
        if status == ReceiptStatus.ACCEPTED and not as_json:
            _ask_for_outcome(chosen)
        return code

    return answering(answered, as_json=as_json)


def _received(bench: Bench, target: str) -> Received:
    received = receiving.receive(bench.store, bench.workstream, target, bench.worktree)
    if received is None:
        raise UnavailableError(f"nothing was committed in {bench.workstream.name} yet")
    return received


def _ask_for_outcome(key: str) -> None:
    """Tell the one command that says how the accepted work ended."""
    say(
        f"when it has ended, say how: {our_command()} handoff outcome completed"
        f" --receipt {shlex.quote(key)} --summary HOW"
        " (or: partial | blocked | failed | abandoned | unknown)"
    )


def _checks(confirmed: str, failed: str) -> LiveChecks:
    said: dict[str, Confirmation] = {}
    for listed, value in ((confirmed, Confirmation.CONFIRMED), (failed, Confirmation.FAILED)):
        for name in filter(None, (word.strip() for word in listed.split(","))):
            if name not in QUESTIONS:
                raise UsageError(
                    f"{name} is none of {', '.join(QUESTIONS)}",
                )
            said[name] = value
    return LiveChecks(**said)


def _caller() -> str:
    return os.environ.get("WORKSTREAM_RUN_ID", "").strip() or "person"


@click.command("outcome")
@click.argument("status", type=click.Choice([str(item) for item in OutcomeStatus]))
@click.option("-m", "--summary", metavar="TEXT", required=True, help="How it ended.")
@click.option("--receipt", metavar="KEY", help="The accepted receipt it covers.")
@click.option("--check", "checks", multiple=True, metavar="NAME=STATUS", help="One check.")
@click.option("--remaining", multiple=True, metavar="TEXT", help="Something that is left.")
@click.option("--key", metavar="KEY", help="Key of this outcome.")
@click.option("--workstream", metavar="WS", help="Which workstream of the repository.")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON envelope.")
def outcome(
    *,
    status: str,
    summary: str,
    receipt: str | None,
    checks: tuple[str, ...],
    remaining: tuple[str, ...],
    key: str | None,
    workstream: str | None,
    as_json: bool,
) -> int:
    """Say how accepted work ended. It covers a transfer only with its accepted receipt."""
    pairs = [_pair(word) for word in checks]
    chosen = key or f"{_caller()}-{receipt or 'none'}-{status}"
    value = Outcome(
        outcome_key=chosen,
        receipt_key=receipt,
        status=OutcomeStatus(status),
        summary=summary,
        checks=tuple(OutcomeCheck(name=name, status=CheckStatus(result)) for name, result in pairs),
        remaining=remaining,
    )

    def work() -> int:
        with writing(workstream) as bench:
            recorded, existed = answers.record_outcome(
                bench.store,
                bench.workstream,
                value,
                bench.author,
                run=None if bench.run is None else bench.run.id,
                token=bench.token,
                holder=bench.holder,
            )
        if as_json:
            emit_json("handoff", {**answers.outcome_value(recorded), "existed": existed})
        else:
            say(f"{recorded.status}: recorded")
        return 0

    def payload() -> dict[str, object]:
        return {
            "do": "outcome",
            "status": status,
            "summary": summary,
            "receipt": receipt,
            "checks": [list(pair) for pair in pairs],
            "remaining": list(remaining),
            "key": chosen,
        }

    return answering(lambda: or_receipt(work, payload, workstream), as_json=as_json)


def _pair(word: str) -> tuple[str, str]:
    name, separator, status = word.rpartition("=")
    known = [str(item) for item in CheckStatus]
    if not separator or not name or status not in known:
        raise UsageError(f"--check takes NAME=STATUS, with one of {', '.join(known)}")
    return name, status
