"""The wheel, and a repository whose own packages are named like ours."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.cli.desk import ENTRY, ROOT, Desk

PACKAGES = {"launcher", "importers", "handoffs", "leases", "ledger"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel, built from the working tree without network."""
    pytest.importorskip("hatchling", reason="the build backend is not installed")
    folder = tmp_path_factory.mktemp("wheel")
    script = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return zipfile.ZipFile(folder / done.stdout.strip())


def test_the_wheel_holds_our_packages_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    top = {name.split("/")[0] for name in wheel.namelist()}
    info = {name for name in top if name.endswith(".dist-info")}
    assert len(info) == 1
    assert top - info == PACKAGES | {"workstream_entry.py"}


def test_the_wheel_holds_what_runs_need(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    assert "launcher/hook.py" in names
    assert {f"{package}/py.typed" for package in PACKAGES} <= names
    in_tree = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in ROOT.glob(f"{package}/**/*.py")
    }
    assert {name for name in names if name.endswith(".py")} == in_tree | {"workstream_entry.py"}


def test_the_wheel_installs_both_commands_and_the_licence(wheel: zipfile.ZipFile) -> None:
    (entry,) = [name for name in wheel.namelist() if name.endswith("entry_points.txt")]
    text = wheel.read(entry).decode()
    assert "workstream = workstream_entry:main" in text
    assert "ws = workstream_entry:main" in text
    assert any(name.endswith("/LICENSE") for name in wheel.namelist())


@pytest.fixture
def shadowing(desk: Desk) -> Path:
    """A repository with packages of our names that do not survive being imported."""
    for package in PACKAGES:
        folder = desk.repo / package
        folder.mkdir()
        (folder / "__init__.py").write_text("raise SystemExit('the wrong one')\n", encoding="utf-8")
    return desk.repo


def _as_installed(desk: Desk, *args: str) -> subprocess.CompletedProcess[str]:
    """Call the entry point as a console script does: no isolated mode, PYTHONPATH counts."""
    script = "import sys; from workstream_entry import main; sys.exit(main())"
    site = ENTRY.parent
    return subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.append({str(site)!r}); {script}", *args],
        env={**desk.env, "PYTHONPATH": "."},
        cwd=desk.repo,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.usefixtures("shadowing")
def test_packages_of_the_repository_are_not_taken_for_ours(desk: Desk) -> None:
    done = _as_installed(desk, "run", "--new", "w", "claude", "-p", "hello")
    assert (done.returncode, done.stdout) == (0, "claude heard hello\n"), done.stderr
    listed = _as_installed(desk, "list")
    assert listed.stdout.startswith("w ")


def test_doctor_names_a_path_that_would_shadow_us(desk: Desk, shadowing: Path) -> None:
    done = _as_installed(desk, "doctor")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all packages are our own" in done.stdout
    assert f"PYTHONPATH names {shadowing}" in done.stdout
