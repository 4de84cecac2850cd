"""OMP's command line, of 18.2.3."""

from __future__ import annotations

import re
from typing import Final

from launcher.harnesses.argv import syntax
from launcher.harnesses.options import Options

OPTIONS: Final = Options(
    table=syntax(
        """
--model ONE
--smol ONE
--slow ONE
--plan ONE
--prewalk NOTHING
--no-prewalk NOTHING
--prewalk-into ONE
--plan-yolo NOTHING
--plan-yolo-into ONE
--provider ONE
--api-key ONE
--system-prompt ONE
--append-system-prompt ONE
--allow-home NOTHING
--profile ONE
--alias ONE
--cwd ONE
--mode ONE
--config ONE
--add-dir ONE
-p --print NOTHING
-c --continue NOTHING
-r --resume MAYBE
--from-claude NOTHING
--from-codex NOTHING
--session-dir ONE
--no-session NOTHING
--models ONE
--no-tools NOTHING
--no-lsp NOTHING
--no-pty NOTHING
--tools ONE
--thinking ONE
--service-tier ONE
--hide-thinking NOTHING
--advisor NOTHING
--external-thinking NOTHING
--hook ONE
-e --extension ONE
--no-extensions NOTHING
--no-skills NOTHING
--skills ONE
--no-rules NOTHING
--export ONE
--no-title NOTHING
--print-thoughts NOTHING
--max-time ONE
--auto-approve NOTHING
--approval-mode ONE
-h --help NOTHING
-v --version NOTHING
""",
        short_equals=False,
    ),
    utilities=frozenset(
        """acp agents auth-broker auth-gateway bench browser-relay cleanse collab commit completions
        compress config dry-balance gallery gc git grep grievances if-bench images install join
        models plugin ps read render say search setup share shell ssh stats tiny-models token ttsr
        update usage worktree""".split()  # noqa: SIM905  (as the help lists them)
    ),
    utility_options=frozenset({"--help", "--version", "--export", "--alias"}),
    one_shot=frozenset({"--print"}),
    resume=frozenset({"--resume"}),
    pick=frozenset({"--continue", "--from-claude", "--from-codex"}),
    detached={"--no-session": "--no-session keeps no session"},
    session_id=re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I),
)
"""A `--resume` with anything but a whole UUID may be a prefix or a path."""
