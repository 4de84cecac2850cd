from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from launcher.harnesses.base import About

ROOT = Path(__file__).resolve().parents[3]


def test_the_tables_of_the_documentation_are_current() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "write_harness_docs.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), "python scripts/write_harness_docs.py"


def test_every_point_has_a_table() -> None:
    script = (ROOT / "scripts" / "write_harness_docs.py").read_text(encoding="utf-8")
    assert [field for field in About._fields if f'"{field}": "' not in script] == []
