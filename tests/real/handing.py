"""What a scripted model does about a handoff, in words that the briefing itself gave it.

The commands are found in what reached the model, so a wrong one in the briefing fails the test.
The bracketed letters keep a script from finding itself where it is told as history.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from tests.real.stage import OURS, told

if TYPE_CHECKING:
    from tests.fakes.server import Request
    from tests.real.stage import Stage

US: Final = " ".join(OURS)
"""How a scripted model calls us where no briefing says how."""
_ANSWER: Final = r": (\S+ (?:-I \S+ )?handoff ac[k]nowledge \S+) "
ACCEPT: Final = "run-found: " + _ANSWER + r"(accepted --confirmed \S+) \(or => \1 \2"
"""The agent accepts, with the command as it was delivered."""
END: Final = r"run-found: say how: (.* handoff out[c]ome completed .*) HOW \(or => \1 'all done'"
"""The agent says how it ended, with the command that accepting printed."""


def give_back(status: str, message: str) -> str:
    """Return the step of an agent that gives the handoff back, in the words it was offered."""
    offered = f"{_ANSWER}accepted .*\\b({status})\\b.*--message"
    return f"run-found: {offered} => \\1 \\2 --message '{message}'"


def content(objective: str = "Mend the walrus", **changes: Any) -> dict[str, Any]:
    """Return a handoff as a person or an agent writes it."""
    return {
        "schema": "handoff.v1",
        "objective": objective,
        "state": [{"text": f"`walrus.py` is half done for {objective!r}", "evidence": []}],
        "disposition": "continuable",
        "next_action": {"text": "Finish `walrus.py`", "evidence": []},
        "blocker": None,
        "omissions": [],
        **changes,
    }


def prepare(stage: Stage, objective: str = "Mend the walrus", **changes: Any) -> str:
    """Have the person prepare a handoff; return its id."""
    text = json.dumps(content(objective, **changes))
    done = stage.workstream("handoff", "prepare", "--json", stdin=text)
    return str(done.data["prepared_id"])


def commit(stage: Stage, objective: str = "Mend the walrus", **changes: Any) -> str:
    """Have the person make a handoff; return its name."""
    made = prepare(stage, objective, **changes)
    return f"r{stage.workstream('handoff', 'commit', made, '--json').data['revision']}"


def shown(stage: Stage, name: str, *args: str) -> Any:
    """Return the document of `handoff show`."""
    return stage.workstream("handoff", "show", name, "--json", *args).data


def listed(stage: Stage, *args: str) -> Any:
    """Return the document of `handoff list`, by name."""
    data = stage.workstream("handoff", "list", "--json", *args).data
    return {item["name"]: item for item in data["handoffs"]} | {None: data["leading"]}


def receivers(document: Any) -> list[tuple[str, str, str]]:
    """Return status, harness and native session of each receipt of a handoff."""
    return [
        (item["status"], item["receiver"]["harness"], item["receiver"]["session"])
        for item in document["receipts"]
    ]


def stands(document: Any) -> tuple[Any, ...]:
    """Return how a handoff stands: delivery, transfer, coverage."""
    return document["delivery"], document["transfer"], document["coverage"]


def handed(request: Request) -> str:
    """Return the handoff part of the last briefing that reached the model, "" without one."""
    text = told(request).rpartition("BEGIN WORKSTREAM BRIEFING")[2]
    text = text.partition("END WORKSTREAM BRIEFING")[0].partition("| What happened elsewhere")[0]
    return text.partition("| Handoff")[2]
