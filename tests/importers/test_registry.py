from __future__ import annotations

import subprocess
import sys

import pytest

from importers import registry
from ledger.errors import UnavailableError


@pytest.mark.parametrize("name", registry.names())
def test_a_built_in_importer_knows_its_name(name: str) -> None:
    assert registry.get(name).name == name


def test_a_built_in_name_scans_no_packages() -> None:
    code = (
        "import sys; from importers import registry; registry.get('codex');"
        "print('importlib.metadata' in sys.modules, 'importers.claude' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "False"]


def test_an_unknown_name_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(UnavailableError, match="nothing") as caught:
        registry.get("nothing")
    assert "codex, claude" in str(caught.value)
