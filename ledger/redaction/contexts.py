"""Secrets that their surroundings give away: key blocks, URLs, headers, cookies, command lines.

Every finder is a scan for a literal with bounded look-around, linear in the text.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING, Final, TypeAlias

from ledger.redaction.lazy import Lazy
from ledger.redaction.values import is_placeholder

if TYPE_CHECKING:
    from collections.abc import Iterator

Span: TypeAlias = "tuple[int, int, str]"

_KEY_BLOCK: Final = Lazy(
    rb"-----begin (?:[a-z0-9]{1,20} ){0,3}private key(?: block)?-----|"
    rb"---- begin ssh2 encrypted private key ----"
)
_BLOCK_LIMIT: Final = 64 * 1024
_BLOCK_BREAK: Final = Lazy(rb"(?:\\{1,7}[nr]|[\s\"',>|+#*\\]){0,120}")
_BLOCK_LINE: Final = Lazy(
    rb"(?:proc-type|dek-info|version|comment|charset|hash):[^\n\\]{0,200}|"
    rb"[a-z0-9+/]{16,}={0,2}|[a-z0-9+/]{2,}={1,2}|=[a-z0-9+/]{4}"
)
_BLOCK_TAIL: Final = Lazy(rb"(?:\\{1,7}[nr]|[\r\n]){1,8}[a-z0-9+/]{1,15}(?![\w ])")
_NEWLINE: Final = Lazy(rb"(?:\\{1,7}[nr]|[ \t]{0,8}[\r\n])")
_PUTTY: Final = Lazy(
    rb"private-lines: ?\d{1,4}"
    rb"(?P<body>(?:\s{1,4}[a-z0-9+/]{4,}={0,2}(?![\w:-])){1,99})"
)

_URL_PASSWORD: Final = Lazy(
    rb"://(?P<user>[^\s/?#@:\[\"'<>\\`]{0,128}):"
    rb"(?P<value>[^\s/?#\"'<>\\`]{1,512})@(?=[\w\[$%{(*-])"
)
_URL_TOKEN: Final = Lazy(rb"://(?P<value>[a-z0-9_-]{20,256})@(?=\w)")
_URL_VARIABLE: Final = Lazy(
    rb"\$|\{|%[sdr(]|\*+$|x+$|<|\[redacted:|\.\.\.$|-?pass-?word-?here$", re.IGNORECASE
)

_SCHEME: Final = Lazy(
    rb"authorization(?:\\{0,7}[\"'`])?\]?[ \t]{0,4}(?:[:=,]|=>)[ \t]{0,4}"
    rb"(?:[bruf]{0,2}\\{0,7}[\"'`])?"
    rb"(?P<scheme>bearer|basic|token|apikey|api-key|digest|negotiate|ssws|bot|key|splunk|"
    rb"sharedkey|genie-?key|dsn|snowflake token=)[ \t:]{1,4}\\{0,7}[\"']?"
    rb"(?P<value>[a-z0-9._~+/=:|%-]{3,})"
)
_BEARER: Final = Lazy(rb"bearer[ \t]{1,4}(?P<value>[a-z0-9._~+/=-]{16,})")

_COOKIE: Final = Lazy(
    rb"cookie(?:\\{0,7}[\"'][ \t]{0,4}[:=,]|[ \t]{0,4}[:=])[ \t]{0,4}"
    rb"(?:\\{0,7}[\"'])?(?=[\w.-]{1,128}=)"
)
_COOKIE_PAIR: Final = Lazy(
    rb"(?P<name>[\w.-]{1,128})=(?P<value>[^\s;,\"'\\]{1,8192})(?:[;,][ \t]{0,4}|(?P<end>))"
)
_COOKIE_ATTRIBUTES: Final = frozenset(
    b"path domain expires max-age samesite secure httponly priority version partitioned".split()
)
_SHORTEST_COOKIE: Final = 6

_NETRC: Final = Lazy(
    rb"machine\s{1,20}\S{1,255}\s{1,20}login\s{1,20}\S{1,128}\s{1,20}password\s{1,20}"
    rb"(?P<value>[^\s\"'\\]{1,512})"
)

_Shape: TypeAlias = "tuple[bytes, Lazy, str]"
"""(gate, pattern over the lowered text, type); the group ``value`` is what is replaced."""

_RUN_SHAPES: Final[tuple[_Shape, ...]] = (
    (
        b"hooks.slack.com/",
        Lazy(rb"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<value>[a-z0-9+/_-]{20,})"),
        "slack-webhook",
    ),
    (
        b"/api/webhooks/",
        Lazy(rb"/api/webhooks/\d{5,25}/(?P<value>[a-z0-9_-]{20,})"),
        "discord-webhook",
    ),
    (
        b".webhook.office.com/",
        Lazy(rb"\.webhook\.office\.com/webhookb2/(?P<value>[a-z0-9@/-]{40,})"),
        "teams-webhook",
    ),
    (
        b"hooks.zapier.com/",
        Lazy(rb"hooks\.zapier\.com/hooks/catch/(?P<value>[a-z0-9/]{8,})"),
        "zapier-webhook",
    ),
    (
        b" aa",
        Lazy(rb"(?<!\d)(?P<value>\d{8,10}:aa[a-z0-9_-]{30,})"),
        "telegram-token",
    ),
    (
        b"1//0",
        Lazy(rb"(?:(?<![\w/:])|(?<=\\[nrt]))(?P<value>1//0[a-z0-9_-]{20,})"),
        "google-refresh-token",
    ),
    (
        b".atlasv1.",
        Lazy(rb"(?:(?<![a-z0-9])|(?<=\\[nrt]))(?P<value>[a-z0-9]{14}\.atlasv1\.[a-z0-9_-]{30,})"),
        "terraform-token",
    ),
    (
        b"-us",
        Lazy(rb"(?:(?<![a-z0-9])|(?<=\\[nrt]))(?P<value>[0-9a-f]{32}-us\d{1,2})(?![a-z0-9])"),
        "mailchimp-key",
    ),
    (
        b"nral",
        Lazy(rb"(?:(?<![a-z0-9])|(?<=\\[nrt]))(?P<value>[0-9a-f]{36}nral)(?![a-z0-9])"),
        "newrelic-key",
    ),
)

_SIGNATURES: Final[tuple[_Shape, ...]] = (
    (b"sig=", Lazy(rb"[?&;]sig=(?P<value>[a-z0-9%+/=_-]{20,})"), "azure-sas-signature"),
    (
        b"-signature=",
        Lazy(rb"x-(?:amz|goog)-signature=(?P<value>[0-9a-f]{32,})"),
        "signed-url-signature",
    ),
)

_AUTH_SHAPES: Final[tuple[_Shape, ...]] = (
    (
        b'"auth"',
        Lazy(rb"\"auth\"\s{0,4}:\s{0,4}\"(?P<value>[a-z0-9+/]{8,}={0,2})\""),
        "registry-auth",
    ),
    (
        b"_auth",
        Lazy(rb"_auth\s{0,4}=\s{0,4}\"?(?P<value>[a-z0-9+/]{8,}={0,2})"),
        "registry-auth",
    ),
)

_COMMANDS: Final[tuple[tuple[Lazy, tuple[tuple[bytes, bytes], ...]], ...]] = (
    (
        Lazy(rb"[\s\"']-u[\"',\s=]{0,6}[^\s:\"'$@]{1,128}:(?P<value>[^\s\"'\\]{1,256})"),
        ((b"curl", b"curl"),),
    ),
    (
        Lazy(rb"--(?:proxy-)?user[\"',\s=]{1,6}[^\s:\"'$@]{1,128}:(?P<value>[^\s\"'\\]{1,256})"),
        ((b"curl", b"curl"),),
    ),
    (
        Lazy(rb"\s-p\s{0,3}[\"']?(?P<value>[^\s\"'\\-][^\s\"'\\]{2,256})"),
        ((b"pass", b"sshpass"),),
    ),
    (
        Lazy(rb"\s-p[\"']?(?P<value>[^\s\"'\\=-][^\s\"'\\]{2,256})"),
        ((b"mysql", b"mysql"), (b"mariadb", b"mariadb")),
    ),
    (
        Lazy(rb"\s-p\s{1,3}[\"']?(?P<value>[^\s\"'\\-][^\s\"'\\]{2,256})"),
        ((b"login", b"docker login"), (b"login", b"podman login"), (b"login", b"az login")),
    ),
    (
        Lazy(rb"\s-a\s{1,3}[\"']?(?P<value>[^\s\"'\\-][^\s\"'\\]{2,256})"),
        ((b"redis-cli", b"redis-cli"),),
    ),
)
"""(flag with its value, (gate, program) pairs of which one must stand before it)."""
_COMMAND_WINDOW: Final = 400
_COMMAND_BREAK: Final = Lazy(rb"(?<!\\)\n|\\n|;|&&|\|")


GATES: Final = frozenset(
    b"auth bearer cookie curl login mariadb mysql pass private redis-cli".split()
)
"""A text that holds none of these, lowercased, has no header, key block or command to look at."""


_BY_WORD: Final[tuple[tuple[bytes, tuple[Lazy, ...]], ...]] = (
    (b"private", (_KEY_BLOCK, _PUTTY)),
    (b"auth", (_SCHEME,)),
    (b"bearer", (_BEARER,)),
    (b"cookie", (_COOKIE,)),
    (b"login", (_NETRC,)),
)
"""(gate, what is looked for behind it)"""


def find_contextual(
    raw: bytes, lower: bytes, words: frozenset[bytes], runs: list[bytes]
) -> Iterator[Span]:
    """Yield (start, end, type) of each secret known by its surroundings; spans may overlap.

    ``words`` are those of ``GATES`` that occur in ``lower``, ``runs`` the text's long unbroken
    stretches.
    """
    if b"@" in lower and b"://" in lower:
        yield from _urls(raw, lower)
    if runs:
        joined = b" ".join([b"", *runs]).lower()
        yield from _shapes(_RUN_SHAPES, joined, raw, lower)
        yield from _shapes(_SIGNATURES, lower, raw, lower)
    if words.isdisjoint(GATES):
        return
    if b"private" in words:
        yield from _key_blocks(lower)
        yield from ((*match.span("body"), "private-key") for match in _PUTTY.now.finditer(lower))
    yield from _headers(raw, lower, words)
    if b"cookie" in words:
        yield from _cookies(raw, lower)
    if b"login" in words:
        yield from _kept(_NETRC, raw, lower, "password")
    if b"auth" in words:
        yield from (
            span for span in _shapes(_AUTH_SHAPES, lower, raw, lower) if _is_login(raw, span)
        )
    yield from _command_lines(raw, lower, words)


def candidates(
    raw: bytes, lower: bytes, words: frozenset[bytes], runs: list[bytes]
) -> Iterator[tuple[int, int]]:
    """Yield where ``find_contextual`` has something to judge; the arguments are the same."""
    for pattern, text in _candidate_patterns(raw, lower, words, runs):
        for match in pattern.now.finditer(text):
            yield match.span()


def _candidate_patterns(
    raw: bytes, lower: bytes, words: frozenset[bytes], runs: list[bytes]
) -> Iterator[tuple[Lazy, bytes]]:
    if b"@" in lower and b"://" in lower:
        yield _URL_PASSWORD, raw
        yield _URL_TOKEN, lower
    if runs:
        joined = b" ".join([b"", *runs]).lower()
        yield from ((shape[1], lower) for shape in _RUN_SHAPES if shape[0] in joined)
        yield from ((shape[1], lower) for shape in _SIGNATURES if shape[0] in lower)
    if words.isdisjoint(GATES):
        return
    for word, patterns in _BY_WORD:
        if word in words:
            yield from ((pattern, lower) for pattern in patterns)
    if b"auth" in words:
        yield from ((shape[1], lower) for shape in _AUTH_SHAPES if shape[0] in lower)
    for pattern, programs in _COMMANDS:
        if any(gate in words and program in lower for gate, program in programs):
            yield pattern, lower


def _is_login(raw: bytes, span: Span) -> bool:
    """Tell whether base64 text is ``user:password``, as registries keep it."""
    try:
        return b":" in base64.b64decode(raw[span[0] : span[1]] + b"==")
    except binascii.Error:
        return False


def _shapes(shapes: tuple[_Shape, ...], gated: bytes, raw: bytes, lower: bytes) -> Iterator[Span]:
    for gate, pattern, kind in shapes:
        if gate in gated:
            yield from _kept(pattern, raw, lower, kind)


def _kept(pattern: Lazy, raw: bytes, lower: bytes, kind: str) -> Iterator[Span]:
    for match in pattern.now.finditer(lower):
        start, end = match.span("value")
        if not is_placeholder(raw[start:end]):
            yield start, end, kind


def _key_blocks(lower: bytes) -> Iterator[Span]:
    next_end = -2  # the last END found; -1 when there is none further on
    for match in _KEY_BLOCK.now.finditer(lower):
        if next_end != -1 and next_end < match.end():
            next_end = lower.find(b"-----end", match.end())
        stop = _closed_block(lower, match.end(), next_end) or _open_block(lower, match.end())
        if stop:
            yield match.start(), stop, "private-key"


def _closed_block(lower: bytes, start: int, end: int) -> int | None:
    if end < 0 or end - start > _BLOCK_LIMIT or not _NEWLINE.now.match(lower, start):
        return None
    if lower.find(b"-----begin", start, end) >= 0:
        return None
    dashes = lower.find(b"-----", end + 8, end + 80)
    return dashes + 5 if dashes >= 0 else end + 8


def _open_block(lower: bytes, start: int) -> int | None:
    """Follow the lines of a block without END for as long as they look like its content."""
    at = start
    while True:
        gap = _BLOCK_BREAK.now.match(lower, at)
        line = _BLOCK_LINE.now.match(lower, gap.end() if gap else at)
        if line is None:
            break
        at = line.end()
    if at == start:
        return None
    tail = _BLOCK_TAIL.now.match(lower, at)
    return tail.end() if tail else at


def _urls(raw: bytes, lower: bytes) -> Iterator[Span]:
    for match in _URL_PASSWORD.now.finditer(raw):
        if not _URL_VARIABLE.now.match(match["value"]):
            yield *match.span("value"), "url-password"
    for match in _URL_TOKEN.now.finditer(lower):
        start, end = match.span("value")
        if any(48 <= byte <= 57 for byte in raw[start:end]):
            yield start, end, "url-credential"


def _headers(raw: bytes, lower: bytes, words: frozenset[bytes]) -> Iterator[Span]:
    if b"auth" in words:
        for match in _SCHEME.now.finditer(lower):
            start, end = match.span("value")
            if not is_placeholder(raw[start:end]):
                yield start, end, f"{match['scheme'].split()[0].decode()}-credential"
    if b"bearer" in words:
        for match in _BEARER.now.finditer(lower):
            start, end = match.span("value")
            value = raw[start:end]
            if any(48 <= byte <= 57 for byte in value) and not is_placeholder(value):
                yield start, end, "bearer-credential"


def _cookies(raw: bytes, lower: bytes) -> Iterator[Span]:
    done = 0
    for match in _COOKIE.now.finditer(lower):
        at = max(match.end(), done)
        while pair := _COOKIE_PAIR.now.match(raw, at):
            start, done = pair.span("value")
            value = pair["value"]
            named = pair["name"].lower() not in _COOKIE_ATTRIBUTES
            if named and len(value) >= _SHORTEST_COOKIE and not is_placeholder(value):
                yield start, done, "cookie"
            if pair["end"] is not None:
                break
            at = done = pair.end()


def _command_lines(raw: bytes, lower: bytes, words: frozenset[bytes]) -> Iterator[Span]:
    for pattern, programs in _COMMANDS:
        names = [program for gate, program in programs if gate in words and program in lower]
        for match in pattern.now.finditer(lower) if names else ():
            start, end = match.span("value")
            if _belongs_to(names, lower, match.start()) and not is_placeholder(raw[start:end]):
                yield start, end, "password"


def _belongs_to(programs: list[bytes], lower: bytes, flag: int) -> bool:
    """Tell whether one of the programs stands before the flag in the same command."""
    for program in programs:
        at = lower.rfind(program, max(0, flag - _COMMAND_WINDOW), flag)
        if at >= 0 and not _COMMAND_BREAK.now.search(lower, at, flag):
            return True
    return False
