"""The head and the tail of a file of JSON lines, both bounded: enough to describe a session."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from importers import jsonl
from importers.base import StoreUnreadable
from importers.files import open_regular

SIZE: Final = 256 * 1024
"""Bytes of each end that are read."""
_ANY: Final[msgspec.json.Decoder[Any]] = msgspec.json.Decoder()


class Ends(NamedTuple):
    """Records of both ends, in order; those of a small file are all in `head`."""

    head: list[dict[str, Any]]
    tail: list[dict[str, Any]]


def ends(path: Path) -> Ends:
    """Read both ends of a file; what cannot be read as a record is left out.

    Raises StoreUnreadable.
    """
    descriptor, status = open_regular(path)
    try:
        head = os.pread(descriptor, SIZE, 0)
        begin = max(len(head), status.st_size - SIZE)
        tail = os.pread(descriptor, SIZE, begin)
    except OSError as error:
        raise StoreUnreadable(f"{path}: {error.strerror}") from error
    finally:
        os.close(descriptor)
    cut = tail if begin == len(head) else tail.partition(b"\n")[2]
    return Ends(list(_records(head, whole=status.st_size <= len(head))), list(_records(cut)))


def _records(data: bytes, *, whole: bool = True) -> Iterator[dict[str, Any]]:
    lines = data.removeprefix(jsonl.BOM).split(b"\n")
    for line in lines if whole else lines[:-1]:
        if jsonl.blank(line):
            continue
        try:
            value = jsonl.decode(line, _ANY)
        except jsonl.Undecodable:
            continue
        if isinstance(value, dict):
            yield value
