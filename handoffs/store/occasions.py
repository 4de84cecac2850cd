"""Reading back why a handoff was prepared and what was observed then."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from handoffs.models import Reason
from handoffs.occasion import Occasion
from handoffs.store import rows
from ledger.errors import BadDataError

if TYPE_CHECKING:
    from ledger.store import Store


class Kept(NamedTuple):
    """What is kept beside the words of a prepared record or a draft."""

    occasion: Occasion
    policy: dict[str, Any] | None
    """Record of the rollover policy that had it prepared."""


def of_prepared(store: Store, prepared_id: str) -> Kept | None:
    """Return what is kept beside a handoff's words.

    None once it is gone: a prepared record outlives two newer revisions only. Raises BadDataError.
    """
    row = store.one(
        "SELECT reasons, statement, observations, policy FROM handoff_prepared"
        " WHERE prepared_id = ?1 UNION ALL"
        " SELECT '[]', NULL, observations, NULL FROM handoff_draft WHERE prepared_id = ?1 LIMIT 1",
        prepared_id,
    )
    if row is None:
        return None
    try:
        reasons = tuple(Reason(word) for word in json.loads(row["reasons"]))
        policy = None if row["policy"] is None else dict(json.loads(row["policy"]))
    except (ValueError, TypeError) as error:
        raise BadDataError(
            "what was noted beside a stored handoff cannot be read", detail=str(error)
        ) from error
    observations = rows.observations_from(row["observations"])
    return Kept(Occasion(reasons, row["statement"], observations), policy)
