"""pi's command line, of 1.6.0."""

from __future__ import annotations

import re
from typing import Final

from launcher.harnesses.argv import syntax
from launcher.harnesses.options import Options

OPTIONS: Final = Options(
    table=syntax(
        """
--provider ONE
--model ONE
--api-key ONE
--system-prompt ONE
--append-system-prompt ONE
--mode ONE
-p --print MAYBE
-c --continue NOTHING
-r --resume NOTHING
--session ONE
--session-id ONE
--fork ONE
--session-dir ONE
--no-session NOTHING
-n --name ONE
--models ONE
-nt --no-tools NOTHING
-nbt --no-builtin-tools NOTHING
-t --tools ONE
-xt --exclude-tools ONE
--thinking ONE
-e --extension ONE
-ne --no-extensions NOTHING
--no-mcp NOTHING
--skill ONE
-ns --no-skills NOTHING
--prompt-template ONE
-np --no-prompt-templates NOTHING
--theme ONE
--use-theme ONE
--no-themes NOTHING
-nc --no-context-files NOTHING
--export ONE
--list-models MAYBE
--verbose NOTHING
--tui-mode ONE
-a --approve NOTHING
-na --no-approve NOTHING
--offline NOTHING
-h --help NOTHING
-v --version NOTHING
""",
        short_equals=False,
        long_equals=False,
    ),
    utilities=frozenset(
        ["install", "remove", "uninstall", "update", "list", "config", "auth", "mcp"]
    ),
    utility_options=frozenset({"--help", "--version", "--list-models", "--export"}),
    one_shot=frozenset({"--print"}),
    named="--session-id",
    resume=frozenset({"--session"}),
    pick=frozenset({"--continue", "--resume"}),
    fork=frozenset({"--fork"}),
    detached={"--no-session": "--no-session keeps no session"},
    session_id=re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I),
)
"""A `--session` or `--fork` with anything but a whole UUID may be a prefix or a path."""
