from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from ledger import git
from ledger.git import PathChange
from ledger.gitprocess import Deadline, Git, GitStopped, clean_environment

IDENTITY = (
    "-c", "user.name=Ann", "-c", "user.email=ann@example.org",
    "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))


def run(where: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *IDENTITY, *arguments], cwd=where, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def commit(where: Path, message: str, files: Mapping[str, str | None] | None = None) -> str:
    for name, content in (files or {}).items():
        path = where / name
        if content is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
    run(where, "add", "-A")
    run(where, "commit", "-q", "--allow-empty", "-m", message)
    return run(where, "rev-parse", "HEAD")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    path = tmp_path / "proj"
    path.mkdir()
    run(path, "init", "-q")
    commit(path, "first", {"a.txt": "one\n", "b.txt": "two\n"})
    return path


def state(where: Path) -> git.GitState:
    """The state under a limit that a busy machine keeps, and whole."""
    found = git.state(where, timeout_ms=20_000)
    assert found.partial is None
    return found


# describe


def test_describe_names_worktree_common_dir_branch_and_head(repo: Path) -> None:
    (repo / "sub").mkdir()
    found = git.describe(repo / "sub", os.environ)
    common = repo / ".git"
    info = common.stat()
    assert found.keys.kind == "git"
    assert found.keys.name == "proj"
    assert found.worktree == found.keys.worktree == str(repo)
    assert found.cwd == str(repo / "sub")
    assert found.keys.common_dir == str(common)
    assert found.keys.inode == f"{info.st_dev}:{info.st_ino}"
    assert found.keys.directory is None
    assert found.branch == "main"
    assert found.head == run(repo, "rev-parse", "HEAD")
    assert found.notice is None


def test_describe_uses_one_git_process(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []
    real = subprocess.Popen

    def counting(*arguments: object, **named: object) -> object:
        calls.append(arguments)
        return real(*arguments, **named)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess, "Popen", counting)
    assert git.describe(repo, os.environ).keys.kind == "git"
    assert len(calls) == 1


def test_a_linked_worktree_shares_the_repository_and_its_name(repo: Path, tmp_path: Path) -> None:
    run(repo, "worktree", "add", "-q", str(tmp_path / "other"), "-b", "side")
    found = git.describe(tmp_path / "other", os.environ)
    assert found.keys.common_dir == str(repo / ".git")
    assert found.keys.name == "proj"
    assert found.worktree == str(tmp_path / "other")
    assert found.branch == "side"


def test_a_symlinked_way_in_leads_to_the_same_keys(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(repo)
    assert git.describe(tmp_path / "link", os.environ) == git.describe(repo, os.environ)


def test_a_submodule_is_its_own_repository(repo: Path, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    run(library, "init", "-q")
    commit(library, "l", {"l.txt": "l"})
    run(repo, "submodule", "add", "-q", str(library), "lib")
    found = git.describe(repo / "lib", os.environ)
    assert found.worktree == str(repo / "lib")
    assert found.keys.common_dir == str(repo / ".git" / "modules" / "lib")


def test_a_branch_without_commits_and_a_detached_head(tmp_path: Path, repo: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    run(empty, "init", "-q", "-b", "trunk")
    found = git.describe(empty, os.environ)
    assert (found.keys.kind, found.branch, found.head) == ("git", "trunk", None)
    assert git.with_roots(found).roots is None
    run(repo, "checkout", "-q", "--detach")
    found = git.describe(repo, os.environ)
    assert found.branch is None
    assert found.head == run(repo, "rev-parse", "HEAD")


def test_a_git_directory_at_home_does_not_count_below_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    run(home, "init", "-q")
    (home / "work").mkdir()
    below = git.describe(home / "work", os.environ)
    assert below.keys.kind == "directory"
    assert below.keys.directory == str(home / "work")
    assert below.notice is None
    assert git.describe(home, os.environ).keys.kind == "git"
    run(home / "work", "init", "-q")
    assert git.describe(home / "work", os.environ).keys.kind == "git"


def test_without_git_the_directory_itself_is_the_key(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "link").symlink_to("plain")
    found = git.describe(tmp_path / "link", os.environ)
    assert found.keys.kind == "directory"
    assert found.keys.directory == found.worktree == str(tmp_path / "plain")
    assert found.keys.name == "plain"
    assert found.notice is None


def test_git_not_installed_is_said_only_where_it_matters(repo: Path, tmp_path: Path) -> None:
    env = {"PATH": str(tmp_path), "HOME": str(tmp_path / "home")}
    assert git.describe(repo, env).notice == "git is not installed"
    assert git.describe(tmp_path, env).notice is None


def test_bare_and_corrupt_repositories_are_directories_with_a_notice(
    tmp_path: Path, repo: Path
) -> None:
    bare = tmp_path / "bare.git"
    bare.mkdir()
    run(bare, "init", "-q", "--bare")
    for where in (bare, repo / ".git"):
        found = git.describe(where, os.environ)
        assert found.keys.kind == "directory"
        assert found.notice is not None
    (repo / ".git" / "HEAD").write_text("garbage\n", encoding="ascii")
    found = git.describe(repo, os.environ)
    assert found.keys.kind == "directory"
    assert found.notice is not None
    assert git.state(repo).partial is not None


def test_a_work_tree_set_elsewhere_is_not_followed(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    run(repo, "config", "core.worktree", str(tmp_path / "elsewhere"))
    found = git.describe(repo, os.environ)
    assert found.keys.kind == "directory"
    assert found.notice is not None


def test_variables_of_the_caller_do_not_redirect_git(repo: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    run(other, "init", "-q")
    env = {**os.environ, "GIT_DIR": str(other / ".git"), "GIT_WORK_TREE": str(other)}
    assert git.describe(repo, env).keys.common_dir == str(repo / ".git")


def test_a_name_with_a_line_break_is_not_misread(tmp_path: Path) -> None:
    odd = tmp_path / "two\nlines"
    odd.mkdir()
    run(odd, "init", "-q")
    found = git.describe(odd, os.environ)
    assert found.worktree == str(odd)


def test_relative_entries_of_path_are_never_searched(repo: Path) -> None:
    planted = repo / "git"
    planted.write_text("#!/bin/sh\ntouch ran\n", encoding="ascii")
    planted.chmod(0o755)
    found = Git.find({"PATH": f".::bin:{os.environ['PATH']}"})
    assert found is not None
    assert Path(found.program).is_absolute()
    assert Git.find({"PATH": "."}) is None


# roots


def test_a_clone_has_the_same_roots_and_a_stranger_has_not(repo: Path, tmp_path: Path) -> None:
    url = "https://ann:secret@example.org/ann/proj.git"
    run(repo, "remote", "add", "origin", url)
    run(tmp_path, "clone", "-q", str(repo), "copy")
    run(tmp_path / "copy", "remote", "set-url", "origin", "https://example.org/ann/proj")
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    run(stranger, "init", "-q")
    commit(stranger, "another first", {"x": "x"})
    run(stranger, "remote", "add", "origin", url)
    ours, copy, other = (
        git.with_roots(git.describe(where, os.environ)).roots
        for where in (repo, tmp_path / "copy", stranger)
    )
    assert ours is not None
    assert ours == copy
    assert other not in (None, ours)


def test_a_shallow_clone_has_no_roots(repo: Path, tmp_path: Path) -> None:
    commit(repo, "second")
    run(tmp_path, "clone", "-q", "--depth", "1", f"file://{repo}", "shallow")
    assert git.with_roots(git.describe(tmp_path / "shallow", os.environ)).roots is None


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        ("https://u:p@h.example/a/b.git", "https://h.example/a/b"),
        ("https://tok@h.example/a/b/", "https://h.example/a/b"),
        ("git@h.example:a/b.git", "h.example:a/b"),
        ("ssh://git@h.example:22/a/b.git", "ssh://h.example:22/a/b"),
        ("https://h.example/a/b?token=x", "https://h.example/a/b"),
        ("/srv/a@b/c", "/srv/a@b/c"),
        ("", ""),
    ],
)
def test_userinfo_is_removed_from_a_remote(url: str, plain: str) -> None:
    assert git.remote_without_userinfo(url) == plain


# state


def test_a_clean_tree_has_head_tree_branch_and_the_digest_of_nothing(repo: Path) -> None:
    found = state(repo)
    assert found.head == run(repo, "rev-parse", "HEAD")
    assert found.tree == run(repo, "rev-parse", "HEAD^{tree}")
    assert found.branch == "main"
    assert found.paths == {}
    assert found.dirty_digest == git.dirty_digest({})


def test_every_kind_of_change_is_listed_with_the_hash_of_the_file(repo: Path) -> None:
    commit(repo, "more", {"c.txt": "c", "d.txt": "d", "e.txt": "e"})
    (repo / "a.txt").write_text("changed", encoding="ascii")
    (repo / "b.txt").unlink()
    run(repo, "rm", "-q", "c.txt")
    (repo / "new dir").mkdir()
    (repo / "new dir" / "ünï\tcode").write_text("new", encoding="ascii")
    (repo / "link").symlink_to("a.txt")
    (repo / "big").write_bytes(b"x" * (1024 * 1024 + 1))
    (repo / "just").write_bytes(b"x" * (1024 * 1024))
    os.mkfifo(repo / "pipe")
    run(repo, "mv", "d.txt", "moved.txt")
    assert state(repo).paths == {
        "a.txt": (".M", hashlib.sha256(b"changed").hexdigest()),
        "b.txt": (".D", None),
        "c.txt": ("D.", None),
        "d.txt": ("D.", None),
        "moved.txt": ("A.", hashlib.sha256(b"d").hexdigest()),
        "new dir/ünï\tcode": ("??", hashlib.sha256(b"new").hexdigest()),
        "link": ("??", hashlib.sha256(b"a.txt").hexdigest()),
        "big": ("??", None),
        "just": ("??", hashlib.sha256(b"x" * 1024 * 1024).hexdigest()),
    }


def test_a_conflict_is_listed(repo: Path) -> None:
    run(repo, "checkout", "-q", "-b", "side")
    commit(repo, "side", {"a.txt": "side\n"})
    run(repo, "checkout", "-q", "main")
    commit(repo, "main", {"a.txt": "main\n"})
    with pytest.raises(subprocess.CalledProcessError):
        run(repo, "merge", "side")
    assert state(repo).paths["a.txt"][0] == "UU"


def test_a_name_that_is_no_text_is_escaped_and_can_be_stored(repo: Path) -> None:
    Path(os.fsdecode(os.fsencode(repo) + b"/bad\xff")).write_bytes(b"1")
    assert state(repo).paths == {"bad\\xff": ("??", hashlib.sha256(b"1").hexdigest())}


def test_the_digest_follows_content_and_not_time(repo: Path) -> None:
    (repo / "a.txt").write_text("one change", encoding="ascii")
    first = state(repo).dirty_digest
    os.utime(repo / "a.txt", (1, 1))
    assert state(repo).dirty_digest == first
    (repo / "a.txt").write_text("one chance", encoding="ascii")
    assert state(repo).dirty_digest != first


def test_a_state_before_the_first_commit(tmp_path: Path) -> None:
    run(tmp_path, "init", "-q", "-b", "trunk", "fresh")
    (tmp_path / "fresh" / "x").write_text("x", encoding="ascii")
    found = state(tmp_path / "fresh")
    assert (found.head, found.tree, found.branch) == (None, None, "trunk")
    assert list(found.paths) == ["x"]


def test_our_own_state_directory_in_the_work_tree_is_not_hidden(repo: Path) -> None:
    (repo / ".workstream").mkdir()
    (repo / ".workstream" / "workstream.db").write_bytes(b"db")
    assert ".workstream/workstream.db" in state(repo).paths


def test_a_slow_git_is_stopped_and_the_state_is_partial(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = shutil.which("git")
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text(
        f'#!/bin/sh\ncase " $* " in *" status "*) exec sleep 60;; esac\nexec {real} "$@"\n',
        encoding="ascii",
    )
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow.parent}:{os.environ['PATH']}")
    began = time.monotonic()
    found = git.state(repo, timeout_ms=1500)
    assert time.monotonic() - began < 30
    assert found.partial == "time limit of 1500 ms"
    assert found.dirty_digest is None
    assert found.head == subprocess.check_output([real or "", "rev-parse", "HEAD"], cwd=repo,
                                                 text=True).strip()  # fmt: skip


def test_no_time_at_all_is_partial_without_starting_anything(repo: Path) -> None:
    assert git.state(repo, timeout_ms=0).partial == "time limit of 0 ms"


def test_a_split_index_is_left_alone(repo: Path) -> None:
    run(repo, "update-index", "--split-index")
    (shared,) = (repo / ".git").glob("sharedindex.*")
    os.utime(shared, (1000, 1000))
    found = git.state(repo, timeout_ms=20_000)
    assert found.partial is not None
    assert "split index" in found.partial
    assert shared.stat().st_mtime == 1000


# nothing runs, nothing is written


@pytest.fixture
def hostile(repo: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A repository that names a program wherever git would run one, and the programs' trace."""
    trace = tmp_path / "trace"
    trace.mkdir()

    def planted(name: str) -> str:
        program = tmp_path / "planted" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n: > {trace}/{name}\ncat\n", encoding="ascii")
        program.chmod(0o755)
        return str(program)

    commit(
        repo,
        "attributes",
        {
            ".gitattributes": "*.txt filter=evil.one diff=evil\n*.bin filter=two\n"
            "*.inc filter=three\n",
            "x.bin": "bin",
            "x.inc": "inc",
            "staged.txt": "s",
        },
    )
    old = commit(repo, "more", {"a.txt": "second\n"})
    settings = {
        "core.fsmonitor": planted("fsmonitor"),
        "core.hooksPath": str(tmp_path / "planted"),
        "core.pager": planted("pager"),
        "core.editor": planted("editor"),
        "core.sshCommand": planted("ssh"),
        "core.askPass": planted("askpass"),
        "core.gitProxy": planted("proxy"),
        "credential.helper": planted("credential"),
        "diff.external": planted("external"),
        "diff.evil.textconv": planted("textconv"),
        "diff.evil.command": planted("diffcommand"),
        "filter.evil.one.clean": planted("clean"),
        "filter.evil.one.smudge": planted("smudge"),
        "filter.evil.one.required": "true",
        "filter.two.process": planted("process"),
        "filter.two.required": "true",
        "log.showSignature": "true",
        "gpg.program": planted("gpg"),
        "status.submoduleSummary": "true",
        "include.path": str(tmp_path / "more-config"),
        "alias.status": f"!{planted('alias')}",
        "alias.rev-parse": f"!{planted('alias')}",
        "protocol.ext.allow": "always",
        "remote.origin.url": f"ext::{planted('transport')} %S",
        "remote.origin.promisor": "true",
        "remote.origin.partialclonefilter": "blob:none",
        "uploadpack.packObjectsHook": planted("pack"),
    }
    for name in ("post-index-change", "pre-commit", "reference-transaction", "post-checkout"):
        planted(name)
    included = tmp_path / "included"
    included.write_text(
        f'[filter "three"]\n clean = {planted("includedclean")}\n required = true\n',
        encoding="ascii",
    )
    (tmp_path / "more-config").write_text(
        f'[includeIf "gitdir:{repo}/"]\n path = {included}\n', encoding="ascii"
    )
    # without the settings until now: building the repository must not run them
    for key, value in settings.items():
        run(repo, "config", key, value)
    (repo / "a.txt").write_text("changed on disk\n", encoding="ascii")
    (repo / "x.bin").write_text("nib", encoding="ascii")
    (repo / "x.inc").write_text("cni", encoding="ascii")
    (repo / "new.txt").write_text("new", encoding="ascii")
    assert old
    shutil.rmtree(trace)
    trace.mkdir()
    # same second, same size: git cannot trust its time stamps and would compare contents
    index = (repo / ".git" / "index").stat()
    for name in ("b.txt", "x.bin", "x.inc", "staged.txt"):
        os.utime(repo / name, ns=(index.st_atime_ns, index.st_mtime_ns))
    return repo, trace


def snapshot(root: Path) -> dict[str, tuple[int, int, int, bytes]]:
    found = {}
    for path in sorted(root.rglob("*")):
        info = path.lstat()
        data = path.read_bytes() if stat.S_ISREG(info.st_mode) else b""
        found[str(path)] = (info.st_mtime_ns, info.st_mode, info.st_ino, data)
    return found


def test_the_planted_programs_do_run_in_an_ordinary_git_status(
    hostile: tuple[Path, Path],
) -> None:
    """Without this the next test would prove nothing."""
    repo, trace = hostile
    subprocess.run(["git", "status"], cwd=repo, capture_output=True, check=False)
    ran = {path.name for path in trace.iterdir()}
    assert {"fsmonitor", "clean"} <= ran


def test_a_hostile_repository_runs_nothing_and_is_unchanged(
    hostile: tuple[Path, Path],
) -> None:
    repo, trace = hostile
    first = run(repo, "rev-parse", "HEAD~2")
    shutil.rmtree(trace)
    trace.mkdir()
    before = snapshot(repo)
    found = git.describe(repo, os.environ)
    assert found.keys.kind == "git"
    git.with_roots(found)
    now = state(repo)
    assert {"a.txt", "new.txt", "x.bin", "x.inc"} <= set(now.paths)
    change = git.changed_between(repo, now._replace(head=first, paths={}), now, timeout_ms=20_000)
    assert [commit.subject for commit in change.commits] == ["more", "attributes"]
    missing = now._replace(head="1" * 40)
    assert git.changed_between(repo, missing, now, timeout_ms=20_000).bounded is not None
    assert [path.name for path in trace.iterdir()] == []
    assert snapshot(repo) == before


def test_a_hostile_submodule_is_not_entered(repo: Path, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    run(library, "init", "-q")
    commit(library, "l", {"l.txt": "l", ".gitattributes": "* filter=evil\n"})
    run(repo, "submodule", "add", "-q", str(library), "lib")
    commit(repo, "with lib")
    program = tmp_path / "planted"
    program.write_text(f"#!/bin/sh\n: > {tmp_path}/ran\ncat\n", encoding="ascii")
    program.chmod(0o755)
    run(repo / "lib", "config", "core.fsmonitor", str(program))
    run(repo / "lib", "config", "filter.evil.clean", str(program))
    (repo / "lib" / "l.txt").write_text("m", encoding="ascii")
    (tmp_path / "ran").unlink(missing_ok=True)
    found = state(repo)
    assert not (tmp_path / "ran").exists()
    assert found.paths == {}


def test_too_many_filter_drivers_are_refused_not_run(repo: Path) -> None:
    with (repo / ".git" / "config").open("a", encoding="ascii") as config:
        config.writelines(f'[filter "f{number}"]\n clean = false\n' for number in range(101))
    found = git.state(repo, timeout_ms=20_000)
    assert found.partial == "more than 100 filter drivers are configured"


def test_no_git_variable_of_the_caller_is_kept() -> None:
    env = clean_environment({"PATH": "/bin", "GIT_EXTERNAL_DIFF": "x", "GIT_CONFIG_COUNT": "1"})
    assert env["PATH"] == "/bin"
    assert "GIT_EXTERNAL_DIFF" not in env
    assert "GIT_CONFIG_COUNT" not in env
    assert env["GIT_OPTIONAL_LOCKS"] == "0"


def test_endless_output_is_cut_off(tmp_path: Path) -> None:
    program = tmp_path / "git"
    program.write_text("#!/bin/sh\nexec yes\n", encoding="ascii")
    program.chmod(0o755)
    found = Git(program=str(program), env=dict(os.environ))
    with pytest.raises(GitStopped, match="8 MiB"):
        found.run(tmp_path, ["status"], Deadline(60_000))


# changed_between


def changes(repo: Path, before: git.GitState, *, limit: int = 200) -> git.TreeChange:
    return git.changed_between(repo, before, state(repo), limit=limit, timeout_ms=20_000)


def test_nothing_changed(repo: Path) -> None:
    (repo / "a.txt").write_text("dirty", encoding="ascii")
    assert changes(repo, state(repo)) == git.TreeChange()


def test_commits_by_others_are_listed_newest_first_with_their_paths(repo: Path) -> None:
    before = state(repo)
    commit(repo, "change a", {"a.txt": "x", "n.txt": "n"})
    newest = commit(repo, "drop b", {"b.txt": None})
    found = changes(repo, before)
    assert [(one.subject, one.author) for one in found.commits] == [
        ("drop b", "Ann"),
        ("change a", "Ann"),
    ]
    assert found.commits[0].sha == newest
    assert dict(found.paths) == {
        "a.txt": PathChange.MODIFIED,
        "b.txt": PathChange.DELETED,
        "n.txt": PathChange.ADDED,
    }
    assert not found.rewritten
    assert not found.branch_changed
    assert found.bounded is None


def test_uncommitted_work_that_was_only_committed_did_not_change(repo: Path) -> None:
    (repo / "a.txt").write_text("mine", encoding="ascii")
    (repo / "b.txt").unlink()
    (repo / "new").write_text("new", encoding="ascii")
    before = state(repo)
    commit(repo, "as it was")
    assert dict(changes(repo, before).paths) == {
        "a.txt": PathChange.COMMITTED,
        "b.txt": PathChange.COMMITTED,
        "new": PathChange.COMMITTED,
    }


def test_uncommitted_changes(repo: Path) -> None:
    (repo / "a.txt").write_text("mine", encoding="ascii")
    (repo / "gone").write_text("g", encoding="ascii")
    before = state(repo)
    (repo / "a.txt").write_text("theirs", encoding="ascii")
    (repo / "gone").unlink()
    (repo / "b.txt").unlink()
    (repo / "new").write_text("n", encoding="ascii")
    found = changes(repo, before)
    assert dict(found.paths) == {
        "a.txt": PathChange.MODIFIED,
        "b.txt": PathChange.DELETED,
        "gone": PathChange.DELETED,
        "new": PathChange.ADDED,
    }
    assert found.commits == ()


def test_discarded_changes_are_reverted(repo: Path) -> None:
    (repo / "a.txt").write_text("mine", encoding="ascii")
    (repo / "b.txt").unlink()
    before = state(repo)
    run(repo, "checkout", "-q", "--", ".")
    assert dict(changes(repo, before).paths) == {
        "a.txt": PathChange.REVERTED,
        "b.txt": PathChange.REVERTED,
    }


def test_staging_alone_changes_no_path(repo: Path) -> None:
    (repo / "a.txt").write_text("mine", encoding="ascii")
    (repo / "n").write_text("n", encoding="ascii")
    before = state(repo)
    run(repo, "add", "-A")
    assert changes(repo, before).paths == ()


def test_an_amended_commit_is_a_rewritten_history(repo: Path) -> None:
    commit(repo, "second", {"a.txt": "2"})
    before = state(repo)
    (repo / "a.txt").write_text("3", encoding="ascii")
    run(repo, "commit", "-q", "-a", "--amend", "-m", "second, better")
    found = changes(repo, before)
    assert found.rewritten
    assert [one.subject for one in found.commits] == ["second, better"]
    assert dict(found.paths) == {"a.txt": PathChange.MODIFIED}


def test_another_branch_is_not_a_rewritten_history(repo: Path) -> None:
    commit(repo, "on main", {"m": "m"})
    before = state(repo)
    run(repo, "checkout", "-q", "-b", "side", "HEAD~1")
    commit(repo, "on side", {"s": "s"})
    found = changes(repo, before)
    assert found.branch_changed
    assert not found.rewritten
    assert dict(found.paths) == {"m": PathChange.DELETED, "s": PathChange.ADDED}


@pytest.mark.parametrize("head", ["0" * 40, "a" * 40, "--output=planted", "HEAD~1", "zz"])
def test_a_head_that_git_does_not_know_leaves_commits_unknown(repo: Path, head: str) -> None:
    now = state(repo)
    found = git.changed_between(repo, now._replace(head=head), now, timeout_ms=20_000)
    assert found.commits == ()
    assert not found.rewritten
    assert found.bounded is not None
    assert not (repo / "planted").exists()


def test_limits_are_said(repo: Path) -> None:
    before = state(repo)
    files: dict[str, str | None] = {f"f{number:03}": "x" for number in range(12)}
    commit(repo, "many", files)
    found = changes(repo, before, limit=10)
    assert len(found.paths) == 10
    assert found.bounded == "12 changed paths, 10 are listed"


def test_partial_states_are_said(repo: Path) -> None:
    now = state(repo)
    before = now._replace(partial="time limit of 1 ms")
    found = git.changed_between(repo, before, now)
    assert found.bounded == "the earlier state was partial: time limit of 1 ms"


def test_the_first_commit_counts_as_new(tmp_path: Path) -> None:
    run(tmp_path, "init", "-q", "fresh")
    before = state(tmp_path / "fresh")
    commit(tmp_path / "fresh", "first", {"x": "x"})
    found = changes(tmp_path / "fresh", before)
    assert [one.subject for one in found.commits] == ["first"]
    assert not found.rewritten


def test_a_state_that_git_did_not_tell_in_time_is_no_change(repo: Path) -> None:
    (repo / "new.txt").write_text("new", encoding="utf-8")
    seen = state(repo)
    unknown = seen._replace(
        head=None, tree=None, branch=None, paths={}, dirty_digest=None, partial="too slow"
    )
    for before, after in ((seen, unknown), (unknown, seen)):
        change = git.changed_between(repo, before, after, timeout_ms=20_000)
        assert (change.branch_changed, change.rewritten) == (False, False)
        assert (change.commits, change.paths) == ((), ())
        assert "too slow" in (change.bounded or "")
