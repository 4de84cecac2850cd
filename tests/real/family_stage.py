"""A bench with any of the thirteen programs on it, all in one person's home directory."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tests.fakes.messages_api import MessagesApi
from tests.fakes.responses_api import ResponsesApi
from tests.lab.family import api_for, family_home
from tests.lab.homes import Home, claude_home, codex_home
from tests.lab.programs import harness_path, harness_program
from tests.real.stage import Bench

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.fakes.server import ScriptedServer


def api_of(name: str) -> ScriptedServer:
    """Return a scripted model API for a harness, not yet started."""
    if name == "codex":
        return ResponsesApi()
    return MessagesApi() if name == "claude" else api_for(name)()


class Family(Bench):
    """A bench with some harnesses, each with a scripted model: `apis[name].turns`."""

    def __init__(self, root: Path, apis: Mapping[str, ScriptedServer]) -> None:
        self.apis = dict(apis)
        trusted = [root / "project"]
        self.homes: dict[str, Home] = {}
        env: dict[str, str] = {}
        for name, api in apis.items():
            if name == "codex":
                home = codex_home(root, api.port, trusted=trusted)
            elif name == "claude":
                home = claude_home(root, api.port, trusted=trusted)
            else:
                home = family_home(name, root, api.port, trusted=trusted)
            self.homes[name] = home
            env.update(home.env)
        programs = [str(harness_program(name).parent) for name in apis]
        nodes = [harness_path(name).split(os.pathsep)[0] for name in apis]
        path = os.pathsep.join([*programs, *nodes, os.environ.get("PATH", os.defpath)])
        super().__init__(root, {**env, "PATH": path})
