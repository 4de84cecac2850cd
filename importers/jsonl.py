r"""Tail reader for append-only JSON-lines files that other programs write.

It protects three invariants. Nothing is written and nothing blocks: files are opened read-only and
must be regular. Memory is bounded by the longest accepted record, not by the file. A cursor
(`Position`) is either proven to fit the file, or reading starts over at byte 0, where line numbers
are the same again.

Lines end at byte 0x0A and nowhere else; U+2028, U+0085 or `\r` inside a record are text. An
unterminated last line is not consumed. `.zst` and `.zstd` files are unpacked on the way; their
offsets count unpacked bytes, and a frame that is cut off is a live tail, not an error.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Protocol, Self, TypeVar

import msgspec

from importers.base import Loss, StoreUnreadable
from importers.files import open_regular

T = TypeVar("T")

CHUNK: Final = 1024 * 1024
MAX_READ: Final = 8 * 1024 * 1024
WINDOW: Final = 16 * 1024
"""Bytes before a position that its digest covers: the last record, or the last records."""
PACKED: Final = (".zst", ".zstd")
"""Suffixes of files that are unpacked on the way."""
BOM: Final = b"\xef\xbb\xbf"
MAX_DEPTH_TEXT: Final = "nested too deeply"


class Undecodable(ValueError):  # noqa: N818  (states a fact about the bytes)
    """The bytes are not a JSON value of the wanted shape; the text says why, without content."""


class Line(NamedTuple):
    """One complete line."""

    number: int
    """From 0; counts every line of the file, blank and broken ones too."""
    offset: int
    """Byte offset of the line's first byte (unpacked bytes for `.zst`)."""
    length: int
    """Bytes without the line feed, also when `data` is not there."""
    data: bytes
    """The bytes without line feed, and without a byte-order mark at the start of the file.
    Empty when the line was longer than the limit: then `length` exceeds it."""


class Position(NamedTuple):
    """How far one file has been consumed: the end of the last complete line."""

    device: int
    inode: int
    offset: int
    line: int
    """Number of lines before the offset, so the number of the next line."""
    digest: str
    """Over the last `WINDOW` bytes before the offset: proves that they are still the same."""

    def dump(self) -> list[int | str]:
        """Return a JSON-ready form; `Position.load` reads it."""
        return list(self)

    @classmethod
    def load(cls, value: object) -> Position | None:
        """Return the position, or None if the value is not one (then reading starts over)."""
        match value:
            case [int(device), int(inode), int(offset), int(line), str(digest)]:
                return cls(device, inode, offset, line, digest)
        return None


class _Bytes(Protocol):
    """A source of bytes that can only go forward."""

    def read(self, size: int) -> bytes: ...

    def skip_to(self, offset: int) -> bytes | None:
        """Go to the offset and return the `WINDOW` bytes before it; None if the end comes first."""
        ...


class Tail:
    """Complete lines of one file after a position. Use as a context manager.

    Raises `StoreUnreadable` on entering when the path is missing, not a regular file (links are
    followed) or unreadable, and while reading when the medium or the compression fails; lines
    that were yielded before stay valid and `position` counts exactly those.
    """

    def __init__(
        self, path: Path, position: Position | None, *, max_line: int, chunk: int = CHUNK
    ) -> None:
        self.path = path
        self.resumed = False
        """True if `position` was proven to fit; False means that reading starts at byte 0."""
        self.pending = 0
        """Bytes of the unterminated last line, known once `lines()` has ended."""
        self._wanted = position
        self._max_line = max_line
        self._chunk = chunk
        self._offset = 0
        self._number = 0
        self._recent = b""  # the bytes just before self._buffer
        self._buffer = b""
        self._used = 0  # bytes of the buffer that belong to yielded lines

    def __enter__(self) -> Self:
        self._descriptor, self._stat = open_regular(self.path)
        try:
            self._source = self._open()
        except BaseException:
            os.close(self._descriptor)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._descriptor)

    def _open(self) -> _Bytes:
        make: Callable[[Path, int], _Bytes] = _Packed if self.path.suffix in PACKED else _Plain
        source = make(self.path, self._descriptor)
        wanted = self._wanted
        if wanted is None or (wanted.device, wanted.inode) != (
            self._stat.st_dev,
            self._stat.st_ino,
        ):
            return source
        before = source.skip_to(wanted.offset)
        if before is not None and _digest(before) == wanted.digest:
            self.resumed = True
            self._offset, self._number, self._recent = wanted.offset, wanted.line, before
            return source
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        return make(self.path, self._descriptor)

    @property
    def position(self) -> Position:
        """The end of the last line that was yielded (or skipped as too long)."""
        return Position(
            self._stat.st_dev,
            self._stat.st_ino,
            self._offset,
            self._number,
            _digest(self._before()),
        )

    def _before(self) -> bytes:
        """Return the last `WINDOW` bytes before `offset`."""
        used = self._used
        return (self._recent + self._buffer[max(0, used - WINDOW) : used])[-WINDOW:]

    @property
    def offset(self) -> int:
        """Byte offset of the end of the last line that was yielded."""
        return self._offset

    def lines(self) -> Iterator[Line]:
        """Yield complete lines, in order, up to the end that the file has when it is reached."""
        start = 0
        while True:
            buffer = self._buffer
            end = buffer.find(b"\n", start)
            while end >= 0:
                yield self._take(buffer, end)
                start = self._used
                end = buffer.find(b"\n", start)
            rest = len(buffer) - self._used
            if rest > self._max_line:
                line = self._skip_long()
                if line is None:
                    return
                yield line
                start = self._used
                continue
            more = self._source.read(min(max(self._chunk, rest), MAX_READ))
            if not more:
                self.pending = rest
                return
            self._recent = self._before()
            self._buffer = buffer[self._used :] + more
            self._used, start = 0, rest

    def _take(self, buffer: bytes, end: int) -> Line:
        """Account for the line that ends at `end` and return it."""
        start, offset, number = self._used, self._offset, self._number
        length = end - start
        data = buffer[start:end] if length <= self._max_line else b""
        if not offset and data.startswith(BOM):
            data = data[len(BOM) :]
        self._used = end + 1
        self._offset = offset + length + 1
        self._number = number + 1
        return Line(number, offset, length, data)

    def _skip_long(self) -> Line | None:
        """Read past an overlong line, holding none of it; None if it is not complete yet."""
        recent = (self._recent + self._buffer[-WINDOW:])[-WINDOW:]
        length = len(self._buffer) - self._used
        self._recent, self._buffer, self._used = self._before(), b"", 0
        while chunk := self._source.read(CHUNK):
            end = chunk.find(b"\n")
            if end < 0:
                length += len(chunk)
                recent = (recent + chunk[-WINDOW:])[-WINDOW:]
                continue
            length += end
            line = Line(self._number, self._offset, length, b"")
            self._recent, self._buffer, self._used = recent, chunk, end + 1
            self._offset += length + 1
            self._number += 1
            return line
        self.pending = length
        return None


class _Plain:
    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor

    def read(self, size: int) -> bytes:
        try:
            return os.read(self._descriptor, size)
        except OSError as error:
            raise StoreUnreadable(f"{self._path}: {error.strerror}") from error

    def skip_to(self, offset: int) -> bytes | None:
        if os.fstat(self._descriptor).st_size < offset:
            return None
        begin = max(0, offset - WINDOW)
        os.lseek(self._descriptor, begin, os.SEEK_SET)
        before = b""
        while len(before) < offset - begin:
            more = self.read(offset - begin - len(before))
            if not more:
                return None
            before += more
        return before


class _Packed:
    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        if sys.version_info >= (3, 14):  # imported late: only compressed stores pay for it
            from compression import zstd
        else:
            from backports import zstd
        self._plain = _Plain(path, descriptor)
        self._zstd = zstd
        self._decompressor = zstd.ZstdDecompressor()
        self._ended = False
        self._left = b""

    def read(self, size: int) -> bytes:
        while not self._ended:
            if self._decompressor.eof:
                self._left = self._decompressor.unused_data
                self._decompressor = self._zstd.ZstdDecompressor()
            packed = self._left
            self._left = b""
            if not packed and self._decompressor.needs_input:
                packed = self._plain.read(CHUNK)
                self._ended = not packed
            if not self._ended:
                data = self._unpack(packed, size)
                if data:
                    return data
        return b""

    def _unpack(self, packed: bytes, size: int) -> bytes:
        try:
            return self._decompressor.decompress(packed, max_length=size)
        except self._zstd.ZstdError as error:
            raise StoreUnreadable(f"{self._path}: damaged compression: {error}") from error

    def skip_to(self, offset: int) -> bytes | None:
        before, at = b"", 0
        while at < offset:
            data = self.read(min(CHUNK, offset - at))
            if not data:
                return None
            at += len(data)
            before = (before + data)[-WINDOW:]
        return before


def blank(data: bytes) -> bool:
    """Return whether a line holds nothing at all (white space only)."""
    return not data or data.isspace()


def decode(data: bytes | memoryview | msgspec.Raw, decoder: msgspec.json.Decoder[T]) -> T:
    """Decode strictly if possible, else after `repair`. Raises Undecodable.

    Fit for a whole line and for a `msgspec.Raw` part of one: a typed envelope with a `Raw` payload
    need not look at junk inside a payload that nobody wants.
    """
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    repaired = repair(bytes(data))
    try:
        return decoder.decode(repaired)
    except msgspec.ValidationError as error:
        raise Undecodable(f"unexpected shape: {error}") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise Undecodable(str(error)) from None


def repair(data: bytes) -> bytes:
    """Return strict JSON in valid UTF-8 for what a lenient reader accepts. Raises Undecodable.

    Deterministic: invalid bytes and lone surrogates become U+FFFD, surrogate pairs are joined, NaN
    and infinite numbers become null, NUL bytes around the value are dropped.
    """
    text = _text(data.strip(b"\0 \t\r\n"))
    try:
        value = json.loads(text, strict=False, parse_constant=lambda _: None, parse_float=_finite)
        spelled = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        raise Undecodable(MAX_DEPTH_TEXT) from None
    except ValueError as error:
        raise Undecodable(_without_content(error)) from None
    return spelled.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


def _finite(text: str) -> float | None:
    number = float(text)
    return number if number - number == 0 else None


def _without_content(error: ValueError) -> str:
    return error.msg if isinstance(error, json.JSONDecodeError) else "not a JSON value"


def loss(name: str, line: Line, reason: str, detail: str, *, record: int = 0) -> Loss:
    """Return the Loss of one line of the file called `name`; its position is `name@offset`."""
    return Loss(
        position=f"{name}@{line.offset}",
        reason=reason,
        detail=detail,
        length=line.length,
        record=record,
    )


def broken(name: str, line: Line, error: Undecodable, *, record: int = 0) -> Loss:
    """Return the Loss of a complete line that cannot be decoded.

    A line that starts like a record but does not end like one was torn while it was written.
    """
    data = line.data.strip()
    if not data.strip(b"\0"):
        return loss(name, line, "torn_line", "only NUL bytes", record=record)
    torn = data[:1] == b"{" and data[-1:] != b"}"
    reason = "torn_line" if torn else "undecodable"
    return loss(name, line, reason, str(error), record=record)


def oversized(name: str, line: Line, limit: int, *, record: int = 0) -> Loss:
    """Return the Loss of a line that is longer than `limit` bytes."""
    return loss(name, line, "too_large", f"longer than {limit} bytes", record=record)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]
