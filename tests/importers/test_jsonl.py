from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import msgspec
import pytest
from backports import zstd
from hypothesis import given, settings
from hypothesis import strategies as st

from importers import files, jsonl
from importers.base import StoreUnreadable
from importers.jsonl import Line, Position, Tail, Undecodable

ANY = msgspec.json.Decoder()
BIG = 1 << 20


def lines_of(
    path: Path, position: Position | None = None, *, max_line: int = BIG, chunk: int = jsonl.CHUNK
) -> tuple[list[Line], Tail]:
    with Tail(path, position, max_line=max_line, chunk=chunk) as tail:
        return list(tail.lines()), tail


def datas(lines: list[Line]) -> list[bytes]:
    return [line.data for line in lines]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.jsonl"


def test_lines_carry_number_offset_and_length(path: Path) -> None:
    path.write_bytes(b'{"a":1}\n\n{"b":2}\n')
    lines, _ = lines_of(path)
    assert lines == [(0, 0, 7, b'{"a":1}'), (1, 8, 0, b""), (2, 9, 7, b'{"b":2}')]


def test_unterminated_last_line_is_not_consumed_and_is_read_once_when_complete(path: Path) -> None:
    path.write_bytes(b"one\ntw")
    lines, tail = lines_of(path)
    assert datas(lines) == [b"one"]
    assert tail.pending == 2
    assert tail.position.offset == 4
    path.write_bytes(b"one\ntwo\n")
    more, again = lines_of(path, tail.position)
    assert again.resumed
    assert more == [(1, 4, 3, b"two")]


def test_nothing_but_a_line_feed_ends_a_line(path: Path) -> None:
    text = "a\u2028b\u0085c\rd\x0be\x1cf"
    path.write_bytes(text.encode() + b"\n")
    lines, _ = lines_of(path)
    assert datas(lines) == [text.encode()]


def test_byte_order_mark_is_dropped_at_the_start_only(path: Path) -> None:
    path.write_bytes(jsonl.BOM + b"{}\n" + jsonl.BOM + b"{}\n")
    lines, tail = lines_of(path)
    assert datas(lines) == [b"{}", jsonl.BOM + b"{}"]
    assert lines[0].length == 5
    assert tail.position.offset == path.stat().st_size


@pytest.mark.parametrize("packed", [False, True])
def test_too_long_line_is_measured_and_not_held(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / ("s.jsonl.zst" if packed else "s.jsonl")
    content = b"a\n" + b"x" * (3 * BIG) + b"\nb\n"
    path.write_bytes(zstd.compress(content) if packed else content)
    lines, tail = lines_of(path, max_line=1000)
    assert lines == [(0, 0, 1, b"a"), (1, 2, 3 * BIG, b""), (2, 3 * BIG + 3, 1, b"b")]
    assert tail.position.offset == len(content)
    assert lines_of(path, tail.position)[1].resumed


def test_too_long_unterminated_line_waits(path: Path) -> None:
    path.write_bytes(b"a\n" + b"x" * (3 * BIG))
    _, tail = lines_of(path, max_line=1000)
    assert (tail.pending, tail.position.offset) == (3 * BIG, 2)
    with path.open("ab") as file:
        file.write(b"\nb\n")
    more, again = lines_of(path, tail.position, max_line=1000)
    assert again.resumed
    assert [(line.number, line.length, line.data) for line in more] == [
        (1, 3 * BIG, b""),
        (2, 1, b"b"),
    ]


def test_memory_does_not_grow_with_a_long_line(path: Path) -> None:
    tracemalloc = pytest.importorskip("tracemalloc")
    with path.open("wb") as file:
        for _ in range(64):
            file.write(b"x" * BIG)
        file.write(b"\nend\n")
    tracemalloc.start()
    try:
        lines, _ = lines_of(path, max_line=100_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [line.length for line in lines] == [64 * BIG, 3]
    assert peak < 8 * BIG


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(b"one\n", id="truncated"),
        pytest.param(b"one\ntwO\n", id="rewritten with equal size"),
        pytest.param(b"xne\ntwo\nthree\n", id="an earlier line rewritten"),
        pytest.param(b"", id="emptied"),
    ],
)
def test_changed_file_is_read_from_the_start(path: Path, after: bytes) -> None:
    path.write_bytes(b"one\ntwo\n")
    before = path.stat()
    _, tail = lines_of(path)
    with path.open("r+b") as file:
        file.truncate(0)
        file.write(after)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    lines, again = lines_of(path, tail.position)
    assert not again.resumed
    assert b"".join(line.data + b"\n" for line in lines) == after
    assert [line.number for line in lines] == list(range(len(lines)))


def test_replaced_file_is_read_from_the_start(path: Path) -> None:
    path.write_bytes(b"one\n")
    _, tail = lines_of(path)
    other = path.with_name("other")
    other.write_bytes(b"one\ntwo\n")
    other.replace(path)
    lines, again = lines_of(path, tail.position)
    assert not again.resumed
    assert datas(lines) == [b"one", b"two"]


def test_growth_with_an_old_mtime_is_seen(path: Path) -> None:
    path.write_bytes(b"one\n")
    before = path.stat()
    _, tail = lines_of(path)
    with path.open("ab") as file:
        file.write(b"two\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert datas(lines_of(path, tail.position)[0]) == [b"two"]


def test_position_survives_json_and_rejects_anything_else(path: Path) -> None:
    path.write_bytes(b"one\n")
    position = lines_of(path)[1].position
    assert Position.load(msgspec.json.decode(msgspec.json.encode(position.dump()))) == position
    assert Position.load([1, 2, 3]) is None
    assert Position.load("x") is None


def test_compressed_file_cut_inside_a_frame_is_a_live_tail(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl.zst"
    content = b"".join(os.urandom(400).hex().encode() + b"\n" for _ in range(2000))
    packed = zstd.compress(content)
    path.write_bytes(packed[: len(packed) // 2])
    some, tail = lines_of(path)
    assert 0 < len(some) < 2000
    with path.open("ab") as file:
        file.write(packed[len(packed) // 2 :])
    rest, again = lines_of(path, tail.position)
    assert again.resumed
    assert datas(some + rest) == content.splitlines()


@pytest.mark.parametrize("suffix", jsonl.PACKED)
def test_compressed_file_of_several_frames_is_read_whole(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"s.jsonl{suffix}"
    path.write_bytes(zstd.compress(b"one\nt") + zstd.compress(b"wo\n") + zstd.compress(b"three\n"))
    assert datas(lines_of(path)[0]) == [b"one", b"two", b"three"]


def test_damaged_compression_is_said_not_taken_for_the_end(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl.zst"
    path.write_bytes(zstd.compress(b"one\n") + b"not a frame at all")
    with pytest.raises(StoreUnreadable, match="damaged compression"):
        lines_of(path)


def test_fifo_and_directory_are_refused_without_blocking(tmp_path: Path) -> None:
    fifo = tmp_path / "z.jsonl"
    os.mkfifo(fifo)
    raised: list[str] = []

    def look() -> None:
        for path in (fifo, tmp_path):
            with pytest.raises(StoreUnreadable) as caught:
                lines_of(path)
            raised.append(str(caught.value))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    thread.join(5)
    assert len(raised) == 2


def test_missing_file_and_dangling_link_say_which_path(tmp_path: Path) -> None:
    link = tmp_path / "x.jsonl"
    link.symlink_to(tmp_path / "gone")
    with pytest.raises(StoreUnreadable, match=r"x\.jsonl"):
        lines_of(link)


def test_link_to_a_regular_file_is_followed(tmp_path: Path, path: Path) -> None:
    path.write_bytes(b"one\n")
    link = tmp_path / "l.jsonl"
    link.symlink_to(path)
    assert datas(lines_of(link)[0]) == [b"one"]


def test_reading_changes_nothing(path: Path) -> None:
    path.write_bytes(b"one\ntwo")
    path.chmod(0o400)
    before = path.stat()
    lines_of(path)
    after = path.stat()
    assert (after.st_mtime_ns, after.st_ctime_ns, after.st_size, stat.S_IMODE(after.st_mode)) == (
        before.st_mtime_ns,
        before.st_ctime_ns,
        7,
        0o400,
    )
    assert list(path.parent.iterdir()) == [path]


@settings(max_examples=150, deadline=None)
@given(
    pieces=st.lists(
        st.one_of(st.just(b"\n"), st.just(b"\xef\xbb\xbf"), st.just(b"\0"), st.binary(max_size=30)),
        max_size=30,
    ),
    chunk=st.integers(1, 20),
    cut=st.integers(0, 200),
    max_line=st.integers(1, 40),
)
def test_lines_do_not_depend_on_chunks_or_on_where_a_read_stopped(
    tmp_path_factory: pytest.TempPathFactory,
    pieces: list[bytes],
    chunk: int,
    cut: int,
    max_line: int,
) -> None:
    path = tmp_path_factory.mktemp("p") / "s.jsonl"
    content = b"".join(pieces)
    path.write_bytes(content[:cut])
    first, tail = lines_of(path, max_line=max_line, chunk=chunk)
    with path.open("ab") as file:
        file.write(content[cut:])
    rest, again = lines_of(path, tail.position, max_line=max_line, chunk=chunk)
    assert again.resumed
    whole = content.split(b"\n")[:-1]
    expected, offset = [], 0
    for number, data in enumerate(whole):
        shown = data.removeprefix(jsonl.BOM) if not offset else data
        expected.append(Line(number, offset, len(data), shown if len(data) <= max_line else b""))
        offset += len(data) + 1
    assert first + rest == expected


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (rb'{"a":"\ud83d\u2026"}', {"a": "\ufffd\u2026"}),
        (rb'{"a":"\ud83d\ude00"}', {"a": "\U0001f600"}),
        (b'{"a":"\xed\xa0\xbd\xed\xb8\x80"}', {"a": "\U0001f600"}),
        (b'{"a":"\xe6\x87"}', {"a": "\ufffd"}),
        (b'{"a":NaN,"b":-Infinity,"c":1e999}', {"a": None, "b": None, "c": None}),
        (b'{"a":"\x01\t"}', {"a": "\x01\t"}),
        (b'\0\0{"a":1}\0', {"a": 1}),
        (rb'{"a":"x\u0000y"}', {"a": "x\0y"}),
    ],
)
def test_lenient_decoding_gives_valid_unicode(data: bytes, value: object) -> None:
    decoded = jsonl.decode(data, ANY)
    assert decoded == value
    msgspec.json.encode(decoded)


@pytest.mark.parametrize("data", [b'{"a":', b"\0\0", b"", b"[" * 100_000, b"1" * 5000, b"{}{}"])
def test_what_cannot_be_decoded_says_so_without_content(data: bytes) -> None:
    with pytest.raises(Undecodable) as caught:
        jsonl.decode(data, ANY)
    assert "111" not in str(caught.value)


def test_wrong_shape_is_undecodable() -> None:
    class Shape(msgspec.Struct):
        type: str

    with pytest.raises(Undecodable, match="unexpected shape"):
        jsonl.decode(b'{"type":1}', msgspec.json.Decoder(Shape))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\0" * 300, "torn_line"),
        (b'{"type":"attachment","attachment":{"type', "torn_line"),
        (b'{"type":"att{"type":"user"}', "undecodable"),
        (b"hello", "undecodable"),
    ],
)
def test_loss_names_file_offset_length_and_reason(data: bytes, reason: str) -> None:
    loss = jsonl.broken("s.jsonl", Line(3, 40, len(data), data), Undecodable("why"), record=9)
    assert (loss.position, loss.reason, loss.length, loss.record) == (
        "s.jsonl@40",
        reason,
        len(data),
        9,
    )


def test_signature_changes_with_any_byte_and_names_absent_files(path: Path) -> None:
    path.write_bytes(b"one\n")
    first = files.signature([path])
    assert files.signature([path]) == first
    with path.open("ab") as file:
        file.write(b"x")
    assert files.signature([path]) != first
    assert files.signature([path, path.with_name("gone")]).endswith(",-")
