"""The contract of `launcher/harnesses/base.py`, for every built-in adapter.

What needs the real program is in `tests/real`; here an adapter gets requests and answers them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from importers import registry as importers
from importers.base import StoreState
from launcher.harnesses import parents, registry
from launcher.harnesses.base import CAPABILITIES, About, Adapter, Form, Readiness, Select
from tests.conformance.kit import Case, cases, copy_home
from tests.launcher.harnesses.support import request

EVERY = pytest.mark.parametrize("name", registry.names())
CHANNELS = frozenset({"hook", "instructions", "system_prompt", "file", "mcp", "prompt", "none"})
OURS = "THE TEXT OF OURS"
WORDS = ["-p", "--", "--resume", "-r", "--session-id", "--model", "x=y", "-c", "run", "exec", "--="]
ARGUMENTS = st.lists(st.one_of(st.text(max_size=12), st.sampled_from(WORDS)), max_size=6)


@pytest.fixture
def adapter(name: str) -> Adapter:
    return registry.get(name)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Case, Path]]:
    """Return one recorded store of each harness."""
    found: dict[str, tuple[Case, Path]] = {}
    for case in cases():
        if case.harness not in found:
            home = copy_home(case, tmp_path_factory.mktemp("stores") / case.name)
            found[case.harness] = (case, home)
    return found


def sessions(stores: dict[str, tuple[Case, Path]], name: str) -> Iterator[tuple[Path, str, Path]]:
    """Yield home, id and path of the recorded sessions."""
    _, home = stores[name]
    for source in importers.get(name).discover(home):
        if source.state is StoreState.PRESENT and source.path is not None:
            yield home, source.native_id, source.path


@EVERY
def test_an_adapter_says_who_it_is(adapter: Adapter, name: str) -> None:
    assert adapter.name == name == importers.get(name).name
    assert adapter.title
    assert adapter.program_names
    assert adapter.verified
    assert all(version[0].isdigit() for version in adapter.verified)
    assert adapter.install_hint
    assert adapter.context_capacity >= 0
    assert adapter.aliases == registry.aliases(name)
    assert set(adapter.parent_variables) == set(parents.MARKS.get(name, ()))


@EVERY
def test_aliases_lead_to_it_and_to_nothing_else(adapter: Adapter) -> None:
    for alias in adapter.aliases:
        assert registry.get(alias) is adapter
        assert alias not in registry.names()


@EVERY
def test_what_works_is_said_in_full(adapter: Adapter) -> None:
    told = adapter.capabilities(None)
    assert tuple(told) == CAPABILITIES
    assert all(text.strip() for text in told.values())


@EVERY
def test_every_point_is_settled(adapter: Adapter) -> None:
    about = adapter.about()
    assert [field for field in About._fields if not getattr(about, field).strip()] == []


@EVERY
def test_the_dialect_of_its_hook_can_be_written_down(adapter: Adapter) -> None:
    dialect = adapter.dialect
    assert json.loads(json.dumps(dialect.document())) == dialect.document()
    assert dialect.delivers in ("SessionStart", "Prompt")
    assert dialect.answer == "@briefing" or "@briefing" in json.dumps(json.loads(dialect.answer))


@EVERY
@settings(max_examples=40, deadline=None)
@given(args=ARGUMENTS)
def test_no_argument_list_is_too_odd(name: str, args: list[str]) -> None:
    invocation = registry.get(name).classify(args)
    assert invocation.args == tuple(args)


@EVERY
@pytest.mark.parametrize("flag", ["--help", "--version"])
def test_help_and_version_pass_straight_through(adapter: Adapter, flag: str) -> None:
    assert adapter.classify([flag]).form is Form.UTILITY


@EVERY
def test_nothing_at_all_is_a_new_interactive_session(adapter: Adapter) -> None:
    found = adapter.classify([])
    assert (found.form, found.select, found.native_id) == (Form.INTERACTIVE, Select.NONE, None)


@EVERY
@pytest.mark.parametrize("resuming", [False, True])
def test_a_channel_is_named_and_never_promises_nothing(
    adapter: Adapter,
    name: str,
    stores: dict[str, tuple[Case, Path]],
    tmp_path: Path,
    *,
    resuming: bool,
) -> None:
    home, native_id, path = next(sessions(stores, name))
    wanted = request(
        adapter,
        [],
        root=tmp_path,
        home=home,
        resume=native_id if resuming else None,
        resume_path=path if resuming else None,
    )
    channel = adapter.channel(wanted)
    assert channel.name in CHANNELS
    assert (channel.capacity > 0) is (channel.name != "none")
    assert channel.name != "none" or channel.why
    assert not (channel.proof and channel.name == "none")
    assert adapter.channel(wanted._replace(briefing=False)).name == "none"


@EVERY
@pytest.mark.parametrize("resuming", [False, True])
@pytest.mark.parametrize("text", [None, OURS])
def test_a_launch_stays_in_the_runs_folder(
    adapter: Adapter,
    name: str,
    stores: dict[str, tuple[Case, Path]],
    tmp_path: Path,
    text: str | None,
    *,
    resuming: bool,
) -> None:
    home, native_id, path = next(sessions(stores, name))
    wanted = request(
        adapter,
        [],
        root=tmp_path,
        home=home,
        resume=native_id if resuming else None,
        resume_path=path if resuming else None,
        text=text,
    )
    launch = adapter.plan(wanted, adapter.channel(wanted))
    assert launch.argv[0] == str(wanted.program.path)
    assert all(not Path(inside).is_absolute() and ".." not in inside for inside in launch.files)
    assert not resuming or launch.native_id in (native_id, None)
    assert not set(launch.env_set) & set(launch.env_remove)
    assert all("\0" not in word for word in launch.argv)


@EVERY
def test_the_text_reaches_the_launch_over_every_channel_but_the_hook(
    adapter: Adapter, tmp_path: Path
) -> None:
    wanted = request(adapter, [], root=tmp_path, text=OURS, features=frozenset())
    channel = adapter.channel(wanted)
    launch = adapter.plan(wanted, channel)
    carried = [*launch.argv, *launch.env_set.values(), *map(bytes.decode, launch.files.values())]
    assert any(OURS in part for part in carried) is (channel.name not in ("hook", "none"))


@EVERY
def test_the_persons_own_arguments_keep_their_order(adapter: Adapter, tmp_path: Path) -> None:
    args = ["--zz-one", "a b", "--zz-two=ü", "the words"]
    wanted = request(adapter, args, root=tmp_path)
    launch = adapter.plan(wanted, adapter.channel(wanted))
    at = [launch.argv.index(arg) for arg in args]
    assert at == sorted(at)


@EVERY
def test_a_session_of_the_store_is_found_and_another_is_missing(
    adapter: Adapter, name: str, stores: dict[str, tuple[Case, Path]], tmp_path: Path
) -> None:
    home, native_id, path = next(sessions(stores, name))
    known = adapter.preflight(home, native_id, path, tmp_path)
    assert known.readiness in (Readiness.READY, Readiness.REFUSED)
    assert known.readiness is Readiness.READY or known.detail
    gone = adapter.preflight(home, "0b5e1cf2-0000-4000-8000-000000000000", None, tmp_path)
    assert gone.readiness is Readiness.MISSING
    assert gone.detail
