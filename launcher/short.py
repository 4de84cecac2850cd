"""`workstream status --short`: one line for a prompt or a status bar, in under 30 ms.

Reads a few rows and nothing else: no git process, no import, no command-line library. Prints an
empty line where there is no workstream. Only `os`, `sys` and `sqlite3` are imported.
"""

from __future__ import annotations

import os
import sqlite3
import sys


def main() -> int:
    """Print the line; the exit code is 0 also when there is nothing to say."""
    home = _state_home()
    line = ""
    if home is not None and os.path.exists(os.path.join(home, "workstream.db")):  # noqa: PTH110, PTH118
        try:
            line = _line(os.path.join(home, "workstream.db"))  # noqa: PTH118
        except sqlite3.Error as error:
            sys.stderr.write(f"workstream: the ledger cannot be read ({error})\n")
            return 73
    print(line)
    return 0


def _state_home() -> str | None:
    given = os.environ.get("WORKSTREAM_HOME", "").strip()
    if given:
        return os.path.expanduser(given)  # noqa: PTH111
    from ledger.store import state_home

    return str(state_home(os.environ))


def _line(path: str) -> str:
    plain = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    db = sqlite3.connect(f"file:{plain}?mode=ro", uri=True, timeout=1)
    try:
        row = _workstream(db)
        if row is None:
            return ""
        number, name = row
        lease = db.execute("SELECT run, harness FROM lease WHERE workstream = ?", (number,))
        held = lease.fetchone()
        if held is not None and held[0] is not None:
            return f"{_plain(name)} ▶ {_plain(held[1] or 'running')}"
        last = db.execute(
            "SELECT entry FROM run WHERE workstream = ? AND spawned_at IS NOT NULL"
            " ORDER BY started_at DESC LIMIT 1",
            (number,),
        ).fetchone()
        limit = db.execute(
            "SELECT entry FROM provider_limit WHERE workstream = ?"
            " AND resets_at > CAST(strftime('%s', 'now') AS INTEGER) * 1000 LIMIT 1",
            (number,),
        ).fetchone()
        text = _plain(name) + (f" · {_plain(last[0])}" if last else "")
        return text + (f" · {_plain(limit[0])} at its limit" if limit else "")
    finally:
        db.close()


def _workstream(db: sqlite3.Connection) -> tuple[int, str] | None:
    uid = os.environ.get("WORKSTREAM_ID", "").strip()
    if uid:
        row = db.execute("SELECT id, name FROM workstream WHERE uid = ?", (uid,)).fetchone()
        return None if row is None else (row[0], row[1])
    worktree, common = _checkout(os.path.realpath(os.getcwd()))  # noqa: PTH109
    repository = db.execute(
        "SELECT repository FROM repository_key WHERE kind = ? AND value = ?",
        ("common_dir", common) if common else ("directory", worktree),
    ).fetchone()
    if repository is None:
        return None
    name = os.environ.get("WORKSTREAM", "").strip()
    if name:
        row = db.execute(
            "SELECT id, name FROM workstream WHERE repository = ? AND name = ?",
            (repository[0], name),
        ).fetchone()
    else:
        row = db.execute(
            "SELECT workstream.id, name FROM worktree_choice"
            " JOIN workstream ON workstream.id = worktree_choice.workstream"
            " WHERE worktree_choice.repository = ? AND worktree = ?",
            (repository[0], worktree),
        ).fetchone()
    return None if row is None else (row[0], row[1])


def _checkout(directory: str) -> tuple[str, str | None]:
    """Return (work tree, git common directory or None) by looking for `.git` upwards."""
    home = os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111
    top = directory
    while True:
        marker = os.path.join(top, ".git")  # noqa: PTH118
        if (top != home or top == directory) and os.path.isdir(marker):  # noqa: PTH112
            return top, os.path.realpath(marker)
        if os.path.isfile(marker):  # noqa: PTH113
            return top, _linked(marker)
        parent = os.path.dirname(top)  # noqa: PTH120
        if parent == top:
            return directory, None
        top = parent


def _linked(marker: str) -> str | None:
    """Return the common directory of a linked work tree or a submodule."""
    with open(marker, encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123
        text = file.read(4096).strip()
    if not text.startswith("gitdir:"):
        return None
    base = os.path.dirname(marker)  # noqa: PTH120
    git_dir = os.path.realpath(os.path.join(base, text[7:].strip()))  # noqa: PTH118
    common = os.path.join(git_dir, "commondir")  # noqa: PTH118
    if not os.path.exists(common):  # noqa: PTH110
        return git_dir
    with open(common, encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123
        return os.path.realpath(os.path.join(git_dir, file.read(4096).strip()))  # noqa: PTH118


def _plain(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)
