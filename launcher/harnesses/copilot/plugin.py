"""The plugin that a run gives to Copilot CLI: a manifest and the hooks, in the run's folder.

Copilot CLI makes a data folder for a plugin in the person's; the hook at a session's end removes
that of ours while it is empty. Observed with Copilot CLI 1.0.102.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Final

FOLDER: Final = "copilot"
EVENTS: Final[Mapping[str, str]] = {
    "sessionStart": "SessionStart",
    "userPromptSubmitted": "Prompt",
    "sessionEnd": "SessionEnd",
}
_SECONDS: Final = {"sessionEnd": 3}
_USUAL: Final = 10
_TIDY: Final = 'rmdir -- "$COPILOT_PLUGIN_DATA" 2>/dev/null; true'


def files(command: Sequence[str]) -> dict[str, bytes]:
    """Return the plugin's files, by path below the run's folder."""
    hooks = {}
    for event in EVENTS:
        line = shlex.join([*command, "--event", event])
        if event == "sessionEnd":
            line = f"{line}; {_TIDY}"
        seconds = _SECONDS.get(event, _USUAL)
        hooks[event] = [{"type": "command", "bash": line, "timeoutSec": seconds}]
    manifest = {
        "name": "workstream",
        "version": "1.0.0",
        "description": "Tells a session what happened elsewhere.",
        "hooks": "hooks.json",
    }
    return {
        f"{FOLDER}/plugin.json": json.dumps(manifest).encode(),
        f"{FOLDER}/hooks.json": json.dumps({"version": 1, "hooks": hooks}).encode(),
    }
