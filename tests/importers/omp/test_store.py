from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from importers.base import Event
from importers.omp import IMPORTER
from tests.conformance.kit import Reader

FIXTURE = Path(__file__).parents[2] / "fixtures" / "omp" / "plain" / "home"


@pytest.mark.parametrize(
    ("env", "folder"),
    [
        ({}, ".omp/agent"),
        ({"PI_CONFIG_DIR": ".other"}, ".other/agent"),
        ({"PI_CODING_AGENT_DIR": "~/mine"}, "mine"),
        ({"PI_CODING_AGENT_DIR": " "}, ".omp/agent"),
        ({"OMP_PROFILE": "work"}, ".omp/profiles/work/agent"),
        ({"PI_PROFILE": "work", "PI_CODING_AGENT_DIR": "/x"}, ".omp/profiles/work/agent"),
        ({"OMP_PROFILE": "", "PI_PROFILE": "work"}, ".omp/agent"),
        ({"OMP_PROFILE": "default"}, ".omp/agent"),
    ],
)
def test_the_store_is_where_variables_say(tmp_path: Path, env: dict[str, str], folder: str) -> None:
    assert IMPORTER.home({"HOME": str(tmp_path), **env}) == tmp_path / folder


def test_a_title_that_is_written_again_in_place_changes_no_event(tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(FIXTURE, home)
    (source,) = IMPORTER.discover(home)
    reader = Reader(importer=IMPORTER, home=home, native_id=source.native_id)
    before = [item for item in reader.read() if isinstance(item, Event)]
    known = reader.ids()
    path = reader.source().path
    assert path is not None
    title, rest = path.read_bytes().split(b"\n", 1)
    named = title.replace(b'"title":""', b'"title":"named"').replace(b" " * 5, b"", 1)
    assert len(named) == len(title)
    path.write_bytes(named + b"\n" + rest)
    reader.read()
    assert before
    assert reader.ids() == known
    assert not reader.superseded()
