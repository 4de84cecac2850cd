"""Values given to a secret's name: env files, code, JSON, YAML, query strings, flags, XML.

The text is read as bytes.  Patterns start with a literal word and run over an ASCII-lowercased
copy, whose offsets are those of the text, so each is a fast scan that stops only at the word.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from ledger.redaction.lazy import Lazy
from ledger.redaction.values import MARKER, Site, is_placeholder, is_secret

if TYPE_CHECKING:
    from collections.abc import Iterator

_QUOTED_WINDOW: Final = 16 * 1024
"""How far a closing quote is looked for, in bytes."""

_SUFFIX: Final = (
    rb"(?:[_-]?(?:value|base64|b64|prod|production|dev|test|staging|live|old|new|raw|base|"
    rb"[0-9]{1,3}))?"
)
_AFTER_NAME: Final = (
    _SUFFIX + rb"(?P<close>\\{0,7}[\"'`])?\]?"
    rb"(?P<op>[ \t]{0,8}"
    rb"(?::[ \t]{0,4}&?(?:str|string|secretstr)(?:[ \t]{0,4}\|[ \t]{0,4}none)?[ \t]{0,4}=(?!=)"
    rb"|=>|:=|=(?![=~>])|:(?![:/=]))"
    rb"[ \t]{0,16})"
    rb"(?:[bruf]{1,2}(?=[\"']))?(?P<open>\\{0,7}[\"'`])?"
)


class _Name(NamedTuple):
    gate: bytes
    pattern: Lazy
    kind: str


def _name(gate: str, word: str, kind: str) -> _Name:
    return _Name(gate.encode(), Lazy(word.encode() + _AFTER_NAME), kind)


_NAMES: Final = (
    _name("pass", "pass(?:word|wd|phrase|code|wort)?", "password"),
    _name("pwd", "pwd", "password"),
    _name("secret", "secret", "secret"),
    _name("token", "token", "token"),
    _name("key", "key(?:[_-]?data)?", "key"),
    _name("credential", "credentials?", "credential"),
    _name("auth", "auth(?:orization)?(?![0-9])", "authorization"),
    _name("mnemonic", "mnemonic", "seed-phrase"),
    _name("seed", "seed[_-]?phrase", "seed-phrase"),
)

GATES: Final = frozenset(name.gate for name in _NAMES)
"""A text that holds none of these, lowercased, has no assignment to look at."""

_KEY_QUALIFIER: Final = Lazy(
    rb"(?:api|access|secret|private|account|encryption|encrypt|signing|signature|master|shared|"
    rb"sharedaccess|preshared|auth|storage|subscription|consumer|deploy|webhook|jwt|hmac|license|"
    rb"app|application|role|client|integration|write|admin|anon|session|crypt|fernet|ssh|service|"
    rb"live|instrumentation|connection|database|db|openai|anthropic|stripe|sendgrid|"
    rb"datadog|dd|rsa|aes|gpg|tls|ssl)[_. -]?$"
)
_SPACED_HEADS: Final = (b"api ", b"access ", b"secret ", b"private ", b"auth ", b"license ")
_PASS_WORDS: Final = (b"password", b"passwd", b"passphrase", b"passcode", b"passwort")
_PASS_HEAD: Final = Lazy(rb"(?:^|[_.-]|db|user|my|smtp|mail|admin|root|redis|proxy)$")

_IDENTIFIER: Final = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
_HEAD_WINDOW: Final = 64
_JUDGED: Final = 256
"""How much of a value is read to judge it; the whole of it is replaced."""
_BARE_VALUE: Final = Lazy(rb"(?:[^\s\"'`,;&)\]}<>|\\]|\\(?![nrtbfu\"'`\\/])){1,256}")
_SHELL_VALUE: Final = Lazy(rb"(?:[^\s\"'`;&<>|\\]|\\(?![nrtbfu\"'`\\/])){1,256}")
_CUT_VALUE: Final = Lazy(rb"[^\s\"'`\\]{1,256}")
_LINE_VALUE: Final = Lazy(rb"[^\s\"'`\\(){}\[\]<>]{1,256}")
_STRONG_LENGTH: Final = 20
_LINE_END: Final = Lazy(rb"[ \t]{0,8}(?:[\r\n\"'`,}\\]|$|[ \t]#|\Z)")
_PARAMETER_LEADS: Final = b";&?"

_FLAG: Final = Lazy(
    rb"--(?<![\w-]--)(?=[a-z])[a-z0-9-]{0,30}?"
    rb"(?P<name>password|passwd|passphrase|pass|token|secret|credential|api-?key|access-?key|"
    rb"secret-?key|private-?key|auth-?key)(?:[ \t]{1,3}|[\"'],[ \t\n]{0,20})"
    rb"(?P<open>\\{0,7}[\"'])?(?![-|>&;])"
)
_XML: Final = Lazy(
    rb"<[a-z0-9_.:-]{0,40}(?:password|passphrase|secret|token|apikey|api-key|privatekey)>"
    rb"(?P<value>[^<>\s]{3,4096})</"
)


@lru_cache(maxsize=1024)
def is_secret_name(name: str) -> str | None:
    """Give the marker type when a field of this name holds a secret, else None.

    Used for the keys of structured tool inputs; plural counters (``max_tokens``) are no secrets.
    """
    lowered = name.lower().encode("utf-8", "replace")
    for rule in _NAMES:
        at = lowered.rfind(rule.gate)
        if at < 0:
            continue
        match = rule.pattern.now.match(lowered + b"=", at)
        if match and match.end() == len(lowered) + 1 and _fits(rule, lowered[:at], match[0]):
            return rule.kind
    return None


def find_assignments(
    raw: bytes, lower: bytes, words: frozenset[bytes]
) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, type) of each value that stands after a secret's name.

    ``words`` are those of ``GATES`` that occur in ``lower``.
    """
    if words.isdisjoint(GATES):
        return
    if b"=" in lower or b":" in lower:
        for rule in _NAMES:
            if rule.gate in words:
                yield from _after_names(rule, raw, lower)
    if b"--" in lower:
        yield from _after_flags(raw, lower)
    if b"</" in lower:
        for match in _XML.now.finditer(lower):
            start, end = match.span("value")
            if not is_placeholder(raw[start:end]):
                yield start, end, "password"


def candidates(lower: bytes, words: frozenset[bytes]) -> Iterator[tuple[int, int]]:
    """Yield where ``find_assignments`` has something to judge."""
    if words.isdisjoint(GATES):
        return
    if b"=" in lower or b":" in lower:
        for rule in _NAMES:
            if rule.gate in words:
                for match in rule.pattern.now.finditer(lower):
                    if _fits(rule, _head(lower, match.start()), match[0]):
                        yield match.span()
    if b"--" in lower:
        yield from (match.span() for match in _FLAG.now.finditer(lower))
    if b"</" in lower:
        yield from (match.span() for match in _XML.now.finditer(lower))


def _head(lower: bytes, start: int) -> bytes:
    """Give the part of a name that stands before its telling word."""
    window = lower[max(0, start - _HEAD_WINDOW) : start]
    head = window[len(window.rstrip(_IDENTIFIER)) :]
    if not head and window.endswith(_SPACED_HEADS):
        head = window.split()[-1] + b" "  # "API key: ..."
    return head


def _after_names(rule: _Name, raw: bytes, lower: bytes) -> Iterator[tuple[int, int, str]]:
    done = 0
    for match in rule.pattern.now.finditer(lower):
        span = _assigned(rule, match, raw, lower) if match.start() >= done else None
        if span:
            yield *span, rule.kind
            done = span[1]


def _after_flags(raw: bytes, lower: bytes) -> Iterator[tuple[int, int, str]]:
    done = 0
    for match in _FLAG.now.finditer(lower):
        span = _flagged(match, raw) if match.start() >= done else None
        if span:
            yield *span, _flag_kind(match["name"])
            done = span[1]


def _assigned(
    rule: _Name, match: re.Match[bytes], raw: bytes, lower: bytes
) -> tuple[int, int] | None:
    head = _head(lower, match.start())
    if not _fits(rule, head, match[0]):
        return None
    name_start = match.start() - len(head)
    start = match.end()
    if MARKER.now.match(raw, start) or raw[max(0, name_start - 2) : name_start] in {b"${", b"//"}:
        return None  # a variable's default; a URL's user, whose password has its own rule
    site = _site(match, raw, name_start)
    if match["open"]:
        if not match["close"] and raw[name_start - 1 : name_start] == match["open"]:
            return None  # the end of a string such as 'Password: '
        end = _closing(raw, start, match["open"])
        site = Site.QUOTED if site is Site.BARE else site
        return (start, end) if _judge(rule, raw[start:end][:_JUDGED], site) else None
    if match["close"] and b"\\" not in match["close"] and match["op"].strip() == b":":
        return _json_scalar(raw, start, rule)
    return _unquoted(rule, match, raw, site)


def _unquoted(
    rule: _Name, match: re.Match[bytes], raw: bytes, site: Site
) -> tuple[int, int] | None:
    start = match.end()
    pattern = _SHELL_VALUE if site is Site.EXPLICIT else _BARE_VALUE
    value = pattern.now.match(raw, start)
    if value is None or not _judge(rule, value[0], site):
        return None
    end = _whole(pattern, raw, value.end())
    if site is Site.BARE:
        if match[0].startswith(b"pass ") and value[0].isdigit():
            return None  # a count of tests
        if b":" in match["op"] and not _LINE_END.now.match(raw, end):
            return _to_line_end(raw, start, end)
    return start, end


def _to_line_end(raw: bytes, start: int, end: int) -> tuple[int, int] | None:
    """Look again at ``password: Tr0ub4dor&3``, and at a token that prose goes on after."""
    line = _LINE_VALUE.now.match(raw, start)
    if line and line.end() > end and _LINE_END.now.match(raw, line.end()):
        return line.span()
    value = raw[start:end][:_JUDGED]
    strong = len(value) >= _STRONG_LENGTH and value.isalnum() and not value.isdigit()
    return (start, end) if strong else None


def _whole(pattern: Lazy, raw: bytes, end: int) -> int:
    """Follow a value beyond the part that was judged."""
    while more := pattern.now.match(raw, end):
        end = more.end()
    return end


def _json_scalar(raw: bytes, start: int, rule: _Name) -> tuple[int, int] | None:
    """Look at ``"password": 12345``, which is no string."""
    value = _BARE_VALUE.now.match(raw, start)
    if value and rule.kind == "password" and value[0].isdigit() and len(value[0]) >= 4:
        return value.span()
    return None


def _judge(rule: _Name, value: bytes, site: Site) -> bool:
    if rule.kind == "authorization":
        return is_secret(value, site, password=False) and (
            len(value) >= 8 and b" " not in value and any(48 <= byte <= 57 for byte in value)
        )
    if rule.kind == "seed-phrase":
        return len(value.split()) >= 12 and site is not Site.BARE
    return is_secret(value, site, password=rule.kind == "password")


def _fits(rule: _Name, head: bytes, word: bytes) -> bool:
    """Tell whether what stands before the word makes it a secret's name."""
    if rule.kind == "key":
        return _KEY_QUALIFIER.now.search(head) is not None
    if rule.gate == b"pass" and not word.startswith(_PASS_WORDS):
        return _PASS_HEAD.now.search(head) is not None  # no compass, no bypass
    return True


def _site(match: re.Match[bytes], raw: bytes, name_start: int) -> Site:
    """Find out how telling the form is: environment, flag, header, parameter, or code."""
    name = raw[name_start : match.end("close") if match["close"] else match.start("op")]
    operator = match["op"]
    if operator == b"=":
        if name.isupper() or name.startswith(b"--"):
            return Site.EXPLICIT
        if name_start and raw[name_start - 1] in _PARAMETER_LEADS:
            return Site.EXPLICIT
    if operator.startswith(b":") and name[:2] in {b"X-", b"x-"}:
        return Site.EXPLICIT
    return Site.BARE


def _closing(raw: bytes, start: int, opened: bytes) -> int:
    """Find the end of a quoted value; a value that is cut off ends at its line or blank.

    The closing quote is the first one that is escaped no deeper than the opening one.
    """
    quote = opened[-1:]
    depth = len(opened) - 1
    limit = min(len(raw), start + _QUOTED_WINDOW)
    at = raw.find(quote, start, limit)
    while at >= 0:
        escapes = 0
        while escapes <= depth and at - escapes > start and raw[at - escapes - 1] == ord("\\"):
            escapes += 1
        if escapes <= depth:
            return _line_end(raw, start, at - escapes)
        at = raw.find(quote, at + 1, limit)
    return _whole(_CUT_VALUE, raw, start)


def _line_end(raw: bytes, start: int, end: int) -> int:
    newline = raw.find(b"\n", start, end)
    return end if newline < 0 else newline


def _flagged(match: re.Match[bytes], raw: bytes) -> tuple[int, int] | None:
    start = match.end()
    if MARKER.now.match(raw, start):
        return None
    if match["open"]:
        end = _closing(raw, start, match["open"])
    elif b"," in match[0]:
        return None  # ["--password", password]
    else:
        value = _SHELL_VALUE.now.match(raw, start)
        end = value.end() if value else start
    judged = raw[start:end][:_JUDGED]
    if not is_secret(judged, Site.EXPLICIT, password=match["name"].startswith(b"pass")):
        return None
    return start, end if match["open"] else _whole(_SHELL_VALUE, raw, end)


def _flag_kind(name: bytes) -> str:
    if name.startswith(b"pass"):
        return "password"
    if name.endswith(b"key"):
        return "key"
    return name.decode()
