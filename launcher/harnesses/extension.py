"""The extension that brings our hook into harnesses that load JavaScript: one file.

It notes which sessions are opened, and before a prompt it asks the hook whether there is a briefing
for this session; what it gets becomes a message of its own in the session. It never throws: a
harness must not suffer from it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

EXTENSION: Final = "workstream.ts"
"""Name in the run's folder; such harnesses load TypeScript as it is."""
_SOURCE: Final = """\
import { spawnSync } from "node:child_process";

const HOOK = @hook;
const KEY = Symbol.for("workstream.due");

function ask(payload) {
  try {
    const done = spawnSync(HOOK[0], HOOK.slice(1), {
      input: JSON.stringify(payload),
      encoding: "utf8",
      maxBuffer: 16 * 1024 * 1024,
      timeout: 10000,
    });
    return done.status === 0 ? done.stdout : "";
  } catch {
    return "";
  }
}

function session(ctx) {
  const manager = ctx.sessionManager;
  const file = manager.getSessionFile();
  if (!file) return undefined;
  return { session_id: manager.getSessionId(), transcript_path: file, cwd: ctx.cwd };
}

function guarded(handler) {
  return async (event, ctx) => {
    try {
      const known = session(ctx);
      return known ? handler(event, known) : undefined;
    } catch {
      return undefined;
    }
  };
}

export default function (harness) {
  // What a session is due outlives a reload of the extensions.
  const due = (globalThis[KEY] ??= new Map());
  function opened(event, known) {
    if (event.reason === "reload") return;
    const source = event.reason ?? "startup";
    due.set(known.session_id, source);
    ask({ hook_event_name: "SessionStart", source, ...known });
  }
  harness.on("session_start", guarded(opened));
  // Where another session in the same process does not start the extensions anew.
  harness.on("session_switch", guarded(opened));
  harness.on("session_compact", guarded((_event, known) => {
    due.set(known.session_id, "compact");
  }));
  harness.on("session_shutdown", guarded((event, known) => {
    if (event.reason === "reload") return;
    ask({ hook_event_name: "SessionEnd", reason: event.reason, ...known });
  }));
  function briefing(known) {
    if (!due.has(known.session_id)) return undefined;
    const source = due.get(known.session_id);
    due.delete(known.session_id);
    const content = ask({ hook_event_name: "Prompt", source, ...known });
    return content ? { customType: "workstream", content, display: false } : undefined;
  }
  // Before the person's words, so that these stay the last; a prompt that comes in another way is
  // followed by it.
  harness.on("input", guarded((event, known) => {
    if (event.source === "extension" || event.streamingBehavior) return;
    const message = briefing(known);
    if (message) harness.sendMessage(message);
  }));
  harness.on("before_agent_start", guarded((_event, known) => {
    const message = briefing(known);
    return message ? { message } : undefined;
  }));
}
"""


def extension(hook_command: Sequence[str]) -> bytes:
    """Return the file, for a hook that is called with these words."""
    return _SOURCE.replace("@hook", json.dumps(list(hook_command))).encode()
