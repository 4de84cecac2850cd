"""Grok Build's command line, of 1.0.41; short forms that its help does not list were tried."""

from __future__ import annotations

from typing import Final

from launcher.harnesses.argv import syntax
from launcher.harnesses.options import Options

PROMPT: Final = "--single"
PROMPT_FILE: Final = "--prompt-file"
RULES: Final = "--rules"
OVERRIDE: Final = "--system-prompt-override"

OPTIONS: Final = Options(
    table=syntax(
        """
--agent ONE
--agents ONE
--allowedTools --allow ONE
--dangerously-skip-permissions --yolo --always-approve NOTHING
-c --continue NOTHING
--cwd ONE
--debug NOTHING
--debug-file ONE
--disallowedTools --deny ONE
--disable-web-search NOTHING
--disallowed-tools ONE
--fork-session NOTHING
--fullscreen NOTHING
-h --help NOTHING
--include-partial-messages NOTHING
--json-schema ONE
--leader-socket ONE
--load ONE
-m --model ONE
--max-turns ONE
--minimal NOTHING
--no-alt-screen NOTHING
--no-plan NOTHING
--no-subagents NOTHING
--oauth NOTHING
--output-format ONE
-p --print --single ONE
--permission-mode ONE
--prompt-file ONE
--prompt-json ONE
-r --resume MAYBE
--effort --reasoning-effort ONE
--restore-code NOTHING
--append-system-prompt --rules ONE
-s --session-id ONE
--sandbox ONE
--system-prompt --system-prompt-override ONE
--tools ONE
-v --version NOTHING
--verbatim NOTHING
-w --worktree MAYBE
--ref --worktree-ref ONE
""",
        short_equals=True,
    ),
    utilities=frozenset(
        ["agent", "clone", "completions", "cursor-worker", "dashboard", "disk-usage", "doctor",
         "du", "export", "help", "inspect", "leader", "login", "logout", "mcp", "memory", "models",
         "plugin", "sessions", "setup", "trace", "update", "usage", "v", "version", "worktree",
         "wrap"]
    ),
    one_shot=frozenset({PROMPT, PROMPT_FILE, "--prompt-json"}),
    create="--session-id",
    resume=frozenset({"--resume"}),
    pick=frozenset({"--continue"}),
    forking=frozenset({"--fork-session"}),
)  # fmt: skip
