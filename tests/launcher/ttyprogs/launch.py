"""A launcher of nothing else: run a program the way `workstream run` does, report how it went.

launch.py RESULT [name=value ...] -- PROGRAM [ARGS...]
RESULT gets one JSON line for each thing that happened: spawned, resumed, ended.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from launcher.child import spawn


def main() -> int:
    result, *words = sys.argv[1:]
    split = words.index("--")
    options = dict(word.split("=", 1) for word in words[:split])
    argv = words[split + 1 :]

    def tell(**facts: object) -> None:
        with Path(result).open("a", encoding="utf-8") as file:
            file.write(json.dumps(facts) + "\n")

    def on_spawned(pid: int, start: int) -> None:
        tell(what="spawned", pid=pid, start=start, launcher=os.getpid())
        time.sleep(float(options.get("linger", "0")))

    def on_resume() -> None:
        tell(what="resumed")

    child = spawn(
        argv,
        os.environ,
        Path(options.get("cwd", os.curdir)),
        on_spawned=on_spawned,
        term_grace_s=float(options.get("term", "10")),
        hangup_grace_s=float(options.get("hangup", "3")),
    )
    status = child.wait(on_resume=on_resume, log=Path(options["log"]) if "log" in options else None)
    tell(what="ended", code=status.code, signal=status.signal, hung_up=status.hung_up)
    print("launcher says goodbye")
    return status.exit_code


if __name__ == "__main__":
    sys.exit(main())
