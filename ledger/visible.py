"""Text that is safe to store, and text that is safe to look at.

The ledger stores what was said, control and bidi characters included; only what is no Unicode
text at all (lone surrogates) is replaced.  Whatever goes to a terminal or into a briefing passes
``show`` first, so that stored text can move no cursor, hide nothing and turn no line around.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_ZWJ: Final = "\u200d"
_VARIATION: Final = "\ufe0f"

_FORMAT: Final = (
    "\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202f\u205f-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
_CONTROL: Final = "\x00-\x08\x0b-\x1f\x7f"
_HIDDEN_ASCII: Final = re.compile(f"[{_CONTROL}]")
_HIDDEN: Final = re.compile(f"[{_CONTROL}\x80-\x9f\ud800-\udfff{_FORMAT}]")
_LINE_BREAKING: Final = re.compile("[\t\n]")

_PICTURE: Final = re.compile(
    "[\u00a9\u00ae\u200d\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u27bf\u2934\u2935\u2b00-\u2bff\u3030"
    "\u303d\u3297\u3299\U0001f000-\U0001faff#*0-9\ufe0f]"
)
"""Characters beside which a joiner or an emoji variation selector has a visible effect."""
_JOINERS: Final = re.compile(f"[{_ZWJ}{_VARIATION}]")
_EXTENDING: Final = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0900-\u0903\u093a-\u094f\u1ab0-\u1aff"
    "\u1dc0-\u1dff\u20d0-\u20ff\u3099\u309a\ufe00-\ufe0f\ufe20-\ufe2f\u200d\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]"
)
"""Characters that belong to the one before them."""

Keep = Literal["head", "tail", "both"]
_BOUNDARY_REACH: Final = 80
"""How many characters a cut moves to meet the end of a line or of a word."""
_CLUSTER_REACH: Final = 32


class Cut(NamedTuple):
    """Text within its budget, mark included, and how many bytes of the original are not in it."""

    text: str
    omitted_bytes: int


def clean(text: str) -> str:
    """Give valid Unicode: surrogate pairs are joined, lone surrogates become U+FFFD.

    Everything else stays, NUL included.  Text without surrogates is returned as it is.
    """
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def show(text: str, *, newline: bool = True) -> str:
    r"""Make invisible and controlling characters visible as escapes such as ``\x1b``.

    CR LF becomes LF, a lone CR ``\r``.  LF and TAB stay unless ``newline`` is False, which is
    for one-line output.  A joiner or variation selector stays inside an emoji.  Never raises.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if text.isascii():
        shown = text if text.isprintable() else _HIDDEN_ASCII.sub(_escape, text)
    else:
        shown = _HIDDEN.sub(_escape_unless_emoji, text)
    return shown if newline else _LINE_BREAKING.sub(_escape, shown)


def cut(text: str, max_bytes: int, *, keep: Keep = "head") -> Cut:
    """Shorten ``text`` to ``max_bytes`` of UTF-8, saying in place how much went.

    The mark ``…[+N bytes]…`` counts to the budget; a budget too small for it gives the beginning
    or end without a mark, down to nothing.  Cuts fall between characters (an accent or an emoji
    sequence is not torn), at a line or word end when one is near.  Lone surrogates are replaced.
    """
    text = clean(text)
    total = len(text) if text.isascii() else len(text.encode())
    if total <= max_bytes:
        return Cut(text=text, omitted_bytes=0)
    room = max_bytes - len(_mark(total).encode())
    if room < 0:
        kept = _tail(text, max_bytes) if keep == "tail" else _head(text, max_bytes)
        return Cut(text=kept, omitted_bytes=total - len(kept.encode()))
    head_room = {"head": room, "tail": 0, "both": room - room // 3}[keep]
    head = _head(text, head_room)
    tail = _tail(text, room - head_room)
    omitted = total - len(head.encode()) - len(tail.encode())
    return Cut(text=head + _mark(omitted) + tail, omitted_bytes=omitted)


def _mark(omitted: int) -> str:
    return f"…[+{omitted} bytes]…"


def _head(text: str, room: int) -> str:
    """Give the longest fitting beginning that ends well."""
    if room <= 0:
        return ""
    end = len(text[:room].encode()[:room].decode("utf-8", "ignore"))
    end = _before_cluster(text, end)
    return text[: _backward(text, end)]


def _backward(text: str, end: int) -> int:
    if end == len(text):
        return end
    low = max(0, end - _BOUNDARY_REACH)
    line = text.rfind("\n", low, end)
    if line > 0 and line >= end - end // 4:
        return line + 1
    if text[end].isspace():
        return end
    word = max(text.rfind(" ", low, end), line)
    return word + 1 if word > end // 2 else end


def _tail(text: str, room: int) -> str:
    """Give the longest fitting end that begins well."""
    if room <= 0:
        return ""
    start = len(text) - len(text[-room:].encode()[-room:].decode("utf-8", "ignore"))
    start = _after_cluster(text, start)
    return text[_forward(text, start) :]


def _forward(text: str, start: int) -> int:
    size = len(text) - start
    high = min(len(text), start + _BOUNDARY_REACH)
    line = text.find("\n", start, min(high, start + size // 4))
    if line >= 0:
        return line + 1
    if start and text[start - 1].isspace():
        return start
    word = text.find(" ", start, min(high, start + size // 2))
    return word + 1 if word >= 0 else start


def _splits_cluster(text: str, at: int) -> bool:
    return 0 < at < len(text) and (_EXTENDING.match(text[at]) is not None or text[at - 1] == _ZWJ)


def _before_cluster(text: str, at: int) -> int:
    """Move back to where a written character begins; a longer pile of marks is torn."""
    low = max(0, at - _CLUSTER_REACH)
    moved = at
    while moved > low and _splits_cluster(text, moved):
        moved -= 1
    return at if _splits_cluster(text, moved) else moved


def _after_cluster(text: str, at: int) -> int:
    high = min(len(text), at + _CLUSTER_REACH)
    moved = at
    while moved < high and _splits_cluster(text, moved):
        moved += 1
    return at if _splits_cluster(text, moved) else moved


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    named = {"\n": r"\n", "\t": r"\t", "\r": r"\r"}.get(character)
    if named:
        return named
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _escape_unless_emoji(match: re.Match[str]) -> str:
    if _JOINERS.match(match[0]) and _in_emoji(match.string, match.start()):
        return match[0]
    return _escape(match)


def _in_emoji(text: str, at: int) -> bool:
    """Tell whether the joiner or selector at ``at`` follows a picture, and joins to another."""
    before = text[at - 1 : at]
    modifier = "\U0001f3fb" <= before <= "\U0001f3ff" if before else False
    if not before or not (_PICTURE.match(before) or modifier) or before == text[at]:
        return False
    if text[at] == _VARIATION:
        return before != _ZWJ
    after = text[at + 1 : at + 2]
    return (
        bool(after) and _PICTURE.match(after) is not None and after not in f"{_ZWJ}{_VARIATION}#*"
    )
