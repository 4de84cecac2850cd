"""What a session says about itself: its head and its tail, both bounded."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from importers import jsonl
from importers.base import SessionFacts, Source, StoreUnreadable
from importers.claude.records import ENVELOPE, FORKED, Envelope, decode_or
from importers.files import open_regular
from importers.session_facts import Facts
from importers.times import milliseconds

HEAD: Final = 256 * 1024
TAIL: Final = 256 * 1024


def describe(source: Source) -> SessionFacts:
    """Read the head and the tail of a session, both bounded. Raises StoreUnreadable."""
    path = source.path
    if path is None:
        raise StoreUnreadable(f"session {source.native_id}: {source.detail or 'not found'}")
    descriptor, status = open_regular(path)
    try:
        head = os.pread(descriptor, HEAD, 0)
        begin = max(len(head), status.st_size - TAIL)
        tail = os.pread(descriptor, TAIL, begin)
    except OSError as error:
        raise StoreUnreadable(f"{path}: {error.strerror}") from error
    finally:
        os.close(descriptor)
    facts = Facts()
    if path.parent.name == "subagents":
        facts.subagent_of = path.parent.parent.name
    whole = status.st_size <= len(head)
    records = list(_records(head, complete=whole))
    _describe_head(facts, records, path)
    cut = tail if begin == len(head) else tail.partition(b"\n")[2]
    for record in [*records, *_records(cut, complete=True)]:
        _describe_last(facts, record)
    return facts.of(path.stem)


def _records(data: bytes, *, complete: bool) -> Iterator[Envelope]:
    lines = data.removeprefix(jsonl.BOM).split(b"\n")
    for line in lines if complete else lines[:-1]:
        if jsonl.blank(line):
            continue
        try:
            yield jsonl.decode(line, ENVELOPE)
        except jsonl.Undecodable:
            continue


def _describe_head(facts: Facts, records: list[Envelope], path: Path) -> None:
    tree = [record for record in records if record.uuid is not None]
    if tree and all(record.is_sidechain for record in tree) and facts.subagent_of is None:
        facts.subagent_of = next((r.session_id for r in tree if r.session_id), path.stem)
    for record in tree:
        facts.first_cwd = facts.first_cwd or record.cwd
        if facts.one_shot is None and record.entrypoint is not None:
            facts.one_shot = record.entrypoint != "cli"
        if facts.parent is None:
            origin = decode_or(record.forked_from, FORKED, None)
            if origin is not None and origin.session_id != path.stem:
                facts.parent = origin.session_id


def _describe_last(facts: Facts, record: Envelope) -> None:
    facts.note(record.cwd, record.relocated_cwd, record.version)
    facts.named = record.custom_title or facts.named
    facts.titled = record.ai_title or record.summary or facts.titled
    if record.uuid is not None:
        facts.time(milliseconds(record.timestamp))
