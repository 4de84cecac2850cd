"""Variables that harnesses set for their own tools and hooks.

They describe an outer session. A child of ours must not see them, whichever harness the outer one
was: with CLAUDE_CODE_CHILD_SESSION set, Claude Code writes no transcript at all.
"""

from __future__ import annotations

from typing import Final

CLAUDE: Final = (
    "CLAUDECODE",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_EXECPATH",
    "CLAUDE_CODE_SESSION_ATTENDED",
    "CLAUDE_CODE_CHILD_NOTES_DIR",
    "CLAUDE_PID",
    "CLAUDE_EFFORT",
    "CLAUDE_ENV_FILE",
    "CLAUDE_PROJECT_DIR",
    "AI_AGENT",
    "TRACEPARENT",
)
"""Observed in hooks and tools of Claude Code 2.1."""
CODEX: Final = ("CODEX_THREAD_ID", "CODEX_SESSION_ID", "CODEX_VERSION")
"""Observed in tools of Codex 0.171."""
ALL: Final = (*CLAUDE, *CODEX)
