"""Write what the stores of a harness say: `python -m tests.conformance.expected NAME [CASE…]`.

It writes `expected.json` beside each store. That file is a claim of what a person saw and did:
read every line of it before it is committed.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from tests.conformance.kit import cases, copy_home, readers, told


def main(name: str, *wanted: str) -> None:
    """Write the claims for a harness, of some cases or of all."""
    for case in cases():
        if case.harness != name or (wanted and case.folder.name not in wanted):
            continue
        found = {}
        with tempfile.TemporaryDirectory() as folder:
            for reader in readers(case, copy_home(case, Path(folder) / "store")):
                reader.read()
                found[reader.native_id] = told(reader)
        text = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
        case.expected.write_text(text, encoding="utf-8")
        print(case.expected)


if __name__ == "__main__":
    main(*sys.argv[1:])
