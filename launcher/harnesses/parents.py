"""Variables that harnesses set for their own tools and hooks, by harness.

They describe an outer session. A child of ours must not see them, whichever harness the outer one
was: with the mark of a child session set, some harnesses write no transcript at all. They stand
here and not in the adapters, because every launch needs them and loads one adapter only.
"""

from __future__ import annotations

from typing import Final

MARKS: Final[dict[str, tuple[str, ...]]] = {
    "claude": (
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
    ),
    "codex": ("CODEX_THREAD_ID", "CODEX_SESSION_ID", "CODEX_VERSION"),
    "copilot": (
        "COPILOT_CLI",
        "COPILOT_AGENT_SESSION_ID",
        "COPILOT_CLI_BINARY_VERSION",
        "COPILOT_CLI_RESOLVED_DIST_DIR",
        "COPILOT_HOOK_DIR",
        "COPILOT_PLUGIN_DATA",
        "COPILOT_PLUGIN_ROOT",
        "COPILOT_PROJECT_DIR",
    ),
    "qwen": (
        "QWEN_CODE",
        "QWEN_CODE_SESSION_ID",
        "QWEN_CODE_AGENT_ID",
        "QWEN_CODE_PROMPT_ID",
        "QWEN_CODE_MODEL",
        "QWEN_CODE_MODEL_IDENTITY",
        "QWEN_CODE_PROJECT_DIR",
        "QWEN_CODE_CLI",
        "QWEN_CODE_LAUNCHER_PID",
        "QWEN_CODE_NO_RELAUNCH",
        "QWEN_CODE_STARTUP_VERSION",
        "QWEN_CODE_MANAGED_NPM_ROOT",
        "QWEN_CODE_MANAGED_NPM_PIN",
        "QWEN_CODE_PRIVATE_RELAUNCH_ENV_PROVENANCE",
    ),
    "grok": ("GROK_SESSION_ID", "GROK_HOOK_EVENT", "GROK_HOOK_NAME", "GROK_WORKSPACE_ROOT"),
}
"""Observed in hooks and tools of Claude Code 2.1, Codex 0.171, Qwen Code 0.24, Copilot CLI 1.0."""
ALL: Final = tuple(dict.fromkeys(name for marks in MARKS.values() for name in marks))
