"""Receipts: what a command inside a harness could not write, and left in its own output instead.

A line is `workstream-receipt/1 <run nonce> <base64url JSON>`. The importer takes it only from the
result of a call of our own command, and it is applied when that run ends, under the run's token.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any, Final

from ledger import notes, workstreams
from ledger import receipts as pending
from ledger.errors import BadDataError
from ledger.model import ReceiptRow, RunRow, Workstream
from ledger.store import Store

PREFIX: Final = "workstream-receipt/1"
MAX_PAYLOAD: Final = 64 * 1024
HANDOFFS: Final = ("handoff_prepared", "acknowledge", "outcome")
"""What is applied by `launcher/handing/applying.py`."""


def line(nonce: str, payload: Mapping[str, Any]) -> str:
    """Return the receipt line for a payload; `payload["do"]` names what to do."""
    raw = json.dumps(payload, ensure_ascii=False, sort_keys=True).encode("utf-8", "replace")
    if len(raw) > MAX_PAYLOAD:
        raise BadDataError("the text is too long for a receipt", detail=f"{len(raw)} bytes")
    return f"{PREFIX} {nonce} {base64.urlsafe_b64encode(raw).decode()}"


def parse(text: str) -> tuple[str, dict[str, Any]]:
    """Return (nonce, payload) of a line. Raises BadDataError."""
    words = text.split()
    if len(words) != 3 or words[0] != PREFIX:
        raise BadDataError("not a receipt")
    try:
        payload = json.loads(base64.b64decode(words[2], altchars=b"-_", validate=True))
    except (binascii.Error, ValueError) as error:
        raise BadDataError("a receipt is damaged", detail=str(error)) from error
    if not isinstance(payload, dict):
        raise BadDataError("a receipt holds no object")
    return words[1], payload


def apply(store: Store, run: RunRow, workstream: Workstream) -> list[str]:
    """Apply the receipts of a run that are still pending; inside the caller's transaction.

    Returns notices about those that were refused; a refused one is kept with its reason.
    """
    notices = []
    for row in pending.pending(store, run.workstream):
        reason = None
        try:
            nonce, payload = parse(row.line)
            if nonce != run.nonce:
                reason = "it belongs to another run"
            elif not pending.is_applied(store, row):
                _do(store, run, workstream, payload, row)
        except BadDataError as error:
            reason = str(error)
        pending.applied(store, row.digest, refused=reason)
        if reason is not None:
            notices.append(f"a receipt was not applied: {reason}")
    return notices


def _do(
    store: Store, run: RunRow, workstream: Workstream, payload: Mapping[str, Any], row: ReceiptRow
) -> None:
    if payload.get("do") in HANDOFFS:
        from launcher.handing import applying

        applying.apply(store, run, workstream, payload, row)
        return
    what, text = payload.get("do"), payload.get("text")
    if what not in ("note", "objective") or not isinstance(text, str) or not text.strip():
        raise BadDataError("it asks for something this version does not know")
    if what == "objective":
        workstreams.set_objective(store, workstream, text, by=run.entry)
        return
    notes.add(
        store,
        workstream,
        text,
        kind="dead_end" if payload.get("dead_end") else "note",
        pinned=bool(payload.get("pin")),
        author=run.entry,
        run=run.id,
        receipt=row.digest,
    )
