"""Nothing outside a harness's own modules names a harness."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from importers import registry

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("launcher", "importers", "handoffs", "leases", "ledger")
REGISTRY = frozenset({"importers/registry.py", "launcher/harnesses/parents.py"})
"""Where the names stand, and what each program leaves in the environment."""


def sources() -> list[Path]:
    found = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return [*found, ROOT / "workstream_entry.py"]


def owner(path: str) -> str | None:
    """Return the module of the harness whose own a source file is."""
    for module in map(registry.module_of, registry.names()):
        own = re.compile(rf"(importers|launcher/harnesses)/{module}(/.*|_\w+\.py|\.py)")
        if own.fullmatch(path):
            return module
    return None


@pytest.mark.parametrize("path", [str(path.relative_to(ROOT)) for path in sources()])
def test_only_its_own_modules_name_a_harness(path: str) -> None:
    if path in REGISTRY:
        return
    names = {name: (name, *more) for name, more in registry.HARNESSES.items()}
    text = (ROOT / path).read_text(encoding="utf-8")
    foreign = [
        spelling
        for name, spellings in names.items()
        if registry.module_of(name) != owner(path)
        for spelling in spellings
    ]
    words = "|".join(map(re.escape, foreign))
    # A harness's own options and packages may have such a word in them: `--from-…`.
    before, behind = (r"\b", r"\b") if owner(path) is None else (r"(?<![\w/-])", r"(?![\w-])")
    assert re.findall(f"{before}(?:{words}){behind}", text, re.IGNORECASE) == []


def test_every_harness_has_modules_of_its_own() -> None:
    owners = {owner(str(path.relative_to(ROOT))) for path in sources()}
    assert owners >= {registry.module_of(name) for name in registry.names()}
