"""A scripted importer: its store is a JSON-lines file whose lines name what to yield."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from importers.base import (
    Batch,
    Event,
    Item,
    Kind,
    LeftOut,
    Limits,
    Loss,
    Mark,
    NodeIndex,
    Receipt,
    SessionFacts,
    Sighting,
    Source,
    StoreState,
    StoreUnreadable,
)

START = 1_700_000_000_000


class ScriptedImporter:
    """Reads `<home>/<native id>.jsonl`; the state is the number of lines read.

    A file that is shorter than the state says is read from its start again. Line keys: `user`,
    `assistant`, `call`, `result`, `interrupted`, `loss`, `left`, `mark`, `sighting`, `receipt`;
    `session` in the first line has its facts.
    """

    name = "codex"
    versions: tuple[str, ...] = ("1.",)

    def __init__(self) -> None:
        self.lines_read = 0
        self.described = 0
        self.between: Callable[[], None] = lambda: None
        """Called before each batch is yielded."""

    def home(self, env: Mapping[str, str]) -> Path:
        return Path(env["SCRIPTED_HOME"])

    def locate(self, home: Path, native_id: str) -> Source:
        path = home / f"{native_id}.jsonl"
        state = StoreState.PRESENT if path.exists() else StoreState.MISSING
        return self._source(path, native_id, state)

    def discover(self, home: Path) -> Iterator[Source]:
        if not home.is_dir():
            raise StoreUnreadable(f"{home} is not a directory")
        for path in sorted(home.glob("*.jsonl"), reverse=True):
            state = StoreState.PRESENT if path.is_file() else StoreState.UNREADABLE
            yield self._source(path, path.stem, state)

    def describe(self, source: Source) -> SessionFacts:
        self.described += 1
        lines = self._lines(source)
        return self._facts(source, lines[:1])

    def read(
        self, source: Source, state: str | None, nodes: NodeIndex, limits: Limits, *, closed: bool
    ) -> Iterator[Batch]:
        lines = self._lines(source)
        done = int(state or 0)
        if done > len(lines):
            nodes.clear()
            done = 0
        while done < len(lines):
            until = min(done + limits.batch_items, len(lines))
            items = tuple(
                item
                for number in range(done, until)
                for item in self._items(lines[number], number, closed)
            )
            self.lines_read += until - done
            self.between()
            yield Batch(
                items=items,
                state=str(until),
                facts=self._facts(source, lines),
                read_bytes=sum(len(json.dumps(line)) for line in lines[done:until]),
            )
            done = until

    def _source(self, path: Path, native_id: str, state: StoreState) -> Source:
        signature = f"{path.stat().st_size}" if path.is_file() else ""
        return Source(
            harness=self.name,
            home=path.parent,
            native_id=native_id,
            state=state,
            paths=(path,),
            signature=signature,
            detail=None if state is StoreState.PRESENT else "not a file",
        )

    def _lines(self, source: Source) -> list[dict[str, object]]:
        if source.path is None:
            raise StoreUnreadable("no file")
        try:
            return [json.loads(line) for line in source.path.read_text().splitlines()]
        except (OSError, ValueError) as error:
            raise StoreUnreadable(f"{source.path}: {error}") from error

    def _facts(self, source: Source, lines: list[dict[str, object]]) -> SessionFacts:
        given = lines[0].get("session") if lines else None
        return SessionFacts(native_id=source.native_id, **(given or {}))  # type: ignore[arg-type]

    def _items(self, line: dict[str, object], number: int, closed: bool) -> list[Item]:
        items: list[Item] = []
        for key, value in line.items():
            if key == "user":
                items.append(self._event(Kind.USER_MESSAGE, "user", number, str(value)))
            elif key == "assistant":
                items.append(self._event(Kind.ASSISTANT_MESSAGE, "assistant", number, str(value)))
            elif key == "result" or (key == "dangling" and closed):
                status = "interrupted" if key == "dangling" else "ok"
                items.append(
                    Event(
                        identity=("call", str(value)),
                        kind=Kind.TOOL_RESULT,
                        role="tool",
                        text="" if key == "dangling" else "output",
                        at=START + number,
                        depth=number,
                        record=number,
                        call_id=str(value),
                        status=status,
                    )
                )
            elif key == "loss":
                items.append(Loss(position=f"file@{number}", reason="torn_line", detail=str(value)))
            elif key == "left":
                items.append(LeftOut(kind=str(value)))
            elif key == "mark":
                first, last, active = value  # type: ignore[misc]
                items.append(Mark(first=first, last=last, active=active))  # type: ignore[has-type]
            elif key == "sighting":
                items.append(Sighting(delivery=str(value), depth=number, record=number))
            elif key == "receipt":
                items.append(Receipt(line=str(value), call_id="c", record=number))
        return items

    def _event(self, kind: Kind, role: str, number: int, text: str) -> Event:
        return Event(
            identity=(text,),
            kind=kind,
            role=role,
            text=text,
            at=START + number,
            depth=number,
            record=number,
        )


def write(home: Path, native_id: str, *lines: Mapping[str, object], append: bool = False) -> Path:
    """Write a scripted session."""
    home.mkdir(parents=True, exist_ok=True)
    path = home / f"{native_id}.jsonl"
    text = "".join(json.dumps(line) + "\n" for line in lines)
    path.write_text((path.read_text() if append else "") + text)
    return path
