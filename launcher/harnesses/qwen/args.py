"""Qwen Code's command line, of 0.24.4. Most long options are understood in camel case too."""

from __future__ import annotations

from typing import Final

from launcher.harnesses.argv import syntax
from launcher.harnesses.options import Options

INTERACTIVE: Final = "--prompt-interactive"
UNRECORDED: Final = "--no-chat-recording"

OPTIONS: Final = Options(
    table=syntax(
        """
--telemetry NOTHING
--telemetryTarget --telemetry-target ONE
--telemetryOtlpEndpoint --telemetry-otlp-endpoint ONE
--telemetryOtlpProtocol --telemetry-otlp-protocol ONE
--telemetryLogPrompts --telemetry-log-prompts NOTHING
--telemetryOutfile --telemetry-outfile ONE
-d --debug NOTHING
--bare NOTHING
--safeMode --safe-mode NOTHING
--proxy ONE
--insecure NOTHING
--chatRecording --chat-recording NOTHING
--noChatRecording --no-chatRecording --no-chat-recording NOTHING
-m --model ONE
--fallbackModel --fallback-model MANY
-p --prompt MAYBE
-i --promptInteractive --prompt-interactive MAYBE
--systemPrompt --system-prompt ONE
--appendSystemPrompt --append-system-prompt ONE
--outputStyle --output-style ONE
-s --sandbox NOTHING
--sandboxImage --sandbox-image ONE
-y --yolo NOTHING
--approvalMode --approval-mode ONE
--acp --experimental-acp NOTHING
--experimentalLsp --experimental-lsp NOTHING
--restore-ask-user-question NOTHING
--channel ONE
--allowedMcpServerNames --allowed-mcp-server-names MANY
--mcpConfig --mcp-config ONE
--allowedTools --allowed-tools MANY
-e --extensions MANY
-l --listExtensions --list-extensions NOTHING
--includeDirectories --add-dir --include-directories MANY
--openaiLogging --openai-logging NOTHING
--openaiLoggingDir --openai-logging-dir ONE
--openaiApiKey --openai-api-key ONE
--openaiBaseUrl --openai-base-url ONE
--screenReader --screen-reader NOTHING
--inputFormat --input-format ONE
-o --outputFormat --output-format ONE
--includePartialMessages --include-partial-messages NOTHING
--jsonFd --json-fd ONE
--jsonFile --json-file ONE
--jsonSchema --json-schema ONE
--inputFile --input-file ONE
-c --continue NOTHING
-r --resume MAYBE
--sessionId --session-id ONE
--forkSession --fork-session NOTHING
--worktree MAYBE
--maxSessionTurns --max-session-turns ONE
--maxWallTime --max-wall-time ONE
--maxToolCalls --max-tool-calls ONE
--maxSubagentDepth --max-subagent-depth ONE
--coreTools --core-tools MANY
--excludeTools --exclude-tools MANY
--disabledSlashCommands --disabled-slash-commands MANY
--authType --auth-type ONE
-v --version NOTHING
-h --help NOTHING
""",
        short_equals=True,
    ),
    utilities=frozenset(
        ["auth", "board", "channel", "extensions", "hook", "hooks", "mcp", "review", "sandbox",
         "serve", "sessions", "update"]
    ),
    utility_options=frozenset({"--help", "--version", "--list-extensions"}),
    one_shot=frozenset({"--prompt", "--json-schema", "--acp"}),
    create="--session-id",
    resume=frozenset({"--resume"}),
    pick=frozenset({"--continue"}),
    forking=frozenset({"--fork-session"}),
    detached={UNRECORDED: f"{UNRECORDED} keeps no session"},
)  # fmt: skip
