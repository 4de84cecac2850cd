"""Copilot CLI's command line, of 1.0.102.

Lists of tools and the like may be empty (`--available-tools -p …`); what follows their first member
is read as words, which mean nothing to Copilot CLI elsewhere.
"""

from __future__ import annotations

from typing import Final

from launcher.harnesses.argv import syntax
from launcher.harnesses.options import Options

APPROVALS: Final = ("--yolo", "--allow-all", "--allow-all-tools", "--assisted-approval")
"""Options with which the person chose what runs unasked."""

OPTIONS: Final = Options(
    table=syntax(
        """
-v --version NOTHING
-i --interactive ONE
--fleet NOTHING
-p --prompt ONE
--trust-folder NOTHING
-s --silent NOTHING
--disable-client-telemetry NOTHING
--enable-memory NOTHING
--model ONE
--effort --reasoning-effort ONE
--context ONE
--auto-tier ONE
--agent ONE
-r --resume MAYBE
--continue NOTHING
-n --name ONE
--session-id ONE
--connect MAYBE
--allow-all-tools NOTHING
--allow-all-paths NOTHING
--disallow-temp-dir NOTHING
--banner NOTHING
--screen-reader NOTHING
--plain-diff NOTHING
-C ONE
--log-dir ONE
--extension-sdk-path ONE
--log-level ONE
--stream ONE
--output-format ONE
--share MAYBE
--share-gist NOTHING
--add-dir ONE
--attachment ONE
--disable-mcp-server ONE
--disable-builtin-mcps NOTHING
--enable-all-github-mcp-tools NOTHING
--add-github-mcp-toolset ONE
--add-github-mcp-tool ONE
--plugin-dir ONE
--additional-mcp-config ONE
--mcp-github-auth ONE
--allow-all-mcp-server-instructions NOTHING
--allow-tool MAYBE
--deny-tool MAYBE
--available-tools MAYBE
--excluded-tools MAYBE
--secret-env-vars MAYBE
--allow-url MAYBE
--deny-url MAYBE
--allow-all-urls NOTHING
--allow-all NOTHING
--yolo NOTHING
--max-autopilot-continues ONE
--mode ONE
--autopilot NOTHING
--plan NOTHING
--experimental NOTHING
--bash-env MAYBE
--mouse MAYBE
--acp NOTHING
--remote NOTHING
--remote-export NOTHING
--environment-host ONE
--environment-compute-id ONE
--dynamic-retrieval ONE
--enable-mcp-server ONE
--max-ai-credits ONE
--assisted-approval NOTHING
--usage-output-file ONE
--no-custom-instructions NOTHING
--no-auto-update NOTHING
--no-ask-user NOTHING
--no-color NOTHING
--no-experimental NOTHING
--no-bash-env NOTHING
--no-mouse NOTHING
--no-remote NOTHING
--no-remote-export NOTHING
--no-eager-powershell-resolution NOTHING
-h --help NOTHING
""",
        short_equals=True,
    ),
    utilities=frozenset(
        ["app", "completion", "config", "help", "init", "instruction", "login", "lsp", "mcp",
         "memories", "plugin", "sandbox", "sessions", "skill", "update", "version", "workflow"]
    ),
    one_shot=frozenset({"--prompt", "--acp"}),
    named="--session-id",
    resume=frozenset({"--resume"}),
    pick=frozenset({"--continue"}),
    detached={
        "--connect": "--connect goes to a session that is kept elsewhere",
        "--environment-host": "--environment-host serves sessions of others",
    },
)  # fmt: skip
