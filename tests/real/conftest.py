from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.fakes.messages_api import MessagesApi
from tests.fakes.responses_api import ResponsesApi
from tests.real.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Iterator


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
def outside() -> Iterator[Path]:
    """Return a folder that no sandbox takes for a temporary one."""
    folder = Path(tempfile.mkdtemp(prefix="workstream-test-", dir="/var/tmp"))
    yield folder
    shutil.rmtree(folder)
