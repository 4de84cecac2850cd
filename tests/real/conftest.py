from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.fakes.messages_api import MessagesApi
from tests.fakes.responses_api import ResponsesApi
from tests.real.family_stage import Family, api_of
from tests.real.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def messages() -> Iterator[MessagesApi]:
    with MessagesApi() as server:
        yield server


@pytest.fixture
def responses() -> Iterator[ResponsesApi]:
    with ResponsesApi() as server:
        yield server


@pytest.fixture
def stage(tmp_path: Path, messages: MessagesApi, responses: ResponsesApi) -> Stage:
    return Stage(tmp_path, messages, responses)


@pytest.fixture
def family(tmp_path: Path) -> Iterator[Callable[..., Family]]:
    """Return what makes a bench with the harnesses that are named."""
    with ExitStack() as stack:

        def make(*names: str) -> Family:
            return Family(tmp_path, {name: stack.enter_context(api_of(name)) for name in names})

        yield make


@pytest.fixture
def outside() -> Iterator[Path]:
    """Return a folder that no sandbox takes for a temporary one."""
    folder = Path(tempfile.mkdtemp(prefix="workstream-test-", dir="/var/tmp"))
    yield folder
    shutil.rmtree(folder)
