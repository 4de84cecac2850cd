"""Which text after ``password =`` and the like is a secret, and which is code or a placeholder.

The name gives the suspicion; this module only looks for reasons against it.  All functions
work on UTF-8 bytes and are pure.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from ledger.redaction.lazy import Lazy


class Site(StrEnum):
    """How a value was written, from the least to the most telling form."""

    BARE = "bare"
    """``password = x`` or ``password: x`` without quotes: might be code or prose."""
    QUOTED = "quoted"
    """A string literal: a secret, a label or a name."""
    EXPLICIT = "explicit"
    """``FOO_TOKEN=x``, ``--token=x``, ``X-Token: x``, ``;Password=x;``: hardly anything else."""


MARKER: Final = Lazy(rb"\[redacted:[a-z0-9-]{1,40}\]")

_FILLER: Final = frozenset(b"xX*.-_#?:0\xe2\x80\xa2\xa6")
_WORDS: Final = frozenset(
    (
        b"none null nil true false undefined string str text token apikey"
        b" api_key api-key required optional hidden bearer basic int integer bool boolean bytes any"
        b" object number unknown empty default return self this type key value option flag is to"
        b" and or for argument parameter with from in on instead when which was if should can must"
        b" needs the a an of as not file env credentials auth current-password new-password"
        b" username user secretstr password-stdin redacted masked omitted invalid missing expired"
        b" accepted ignored used set may will via then that it options flags arguments parameters"
    ).split()
)
_REFERENCE: Final = Lazy(
    rb"\$\{?[A-Za-z_]\w*(?::?[-=?+][^}]*)?\}?$|\$\(|\$\{|`|%[sdr]$|%\(?\w+\)?[%s]|\*[A-Za-z_][\w-]*$|"
    rb"\[[A-Z_ ]+\]$|#[0-9A-Fa-f]{3,8}$|\(\?|\[\^|\{[A-Za-z_][\w.!:]*$|\d+(?:\.\d+)+$|"
    rb"<[^>]*>|"
    rb"[#%]?\{\{?[^{}]*\}|@[-/.]|!(?:Ref|Sub|vault|GetAtt|secret|env_var)\b|env\(|\\"
)
_TEMPLATE: Final = Lazy(rb"\$\{[^{}]*\}|\{\{[^{}]*\}\}|(?<!\\)\{[A-Za-z_][\w.]*\}|%\(\w+\)s|%s")
_PLACEHOLDER: Final = Lazy(
    rb"(?:^|[-_<{\[ ])(?:your|my_own|insert|replace|enter|put)[-_ ]|your[A-Z]|placeholder|\.\.\.$|"
    rb"\xe2\x80\xa6$",
    re.IGNORECASE,
)
_PATH: Final = Lazy(
    rb"(?:\.{0,2}/|~/|[A-Za-z]:[\\/])[\w.@/\\-]*$|[\w+.-]{1,20}://|"
    rb"[\w./-]{1,200}\.(?:pem|key|crt|json|ya?ml|toml|txt|env|py|ts|js|go|rs|md|sh|ini|cfg)$"
)
_NAME: Final = Lazy(rb"[A-Za-z_]\w*(?:(?:\.|->|::|\?\.)[A-Za-z_]\w*)+$")
_NUMBER: Final = Lazy(rb"[-+]?\d[\d_]*(?:\.\d+)?(?:ms|s|m|h|d|k|K|M|%)?$")
_LABEL: Final = Lazy(rb"_?[A-Za-z]+(?:[-_.: /][A-Za-z]+)*[:.*]?$")
_CALL: Final = Lazy(rb"[A-Za-z_][\w.:]*[(\[]")
_SYMBOL: Final = Lazy(rb"[!@#$%^&*+~?=]")
_DIGIT: Final = Lazy(rb"\d")
_PASSWORDISH: Final = Lazy(rb"pass|pwd|kennwort|contrase|secret|token|credential", re.IGNORECASE)
_NAMED: Final = Lazy(rb"pass|secret|token|credential|key", re.IGNORECASE)


def is_placeholder(value: bytes) -> bool:
    """Tell whether a value stands for a secret instead of being one: ``$TOKEN``, ``xxxx``."""
    return (
        not value
        or MARKER.now.match(value) is not None
        or _FILLER.issuperset(value)
        or value.lower() in _WORDS
        or _REFERENCE.now.match(value) is not None
        or _TEMPLATE.now.search(value) is not None
        or _PLACEHOLDER.now.search(value) is not None
    )


def is_secret(value: bytes, site: Site, *, password: bool) -> bool:
    """Judge a value that was assigned to a secret's name.

    ``password`` says that the name asks for a password, where short and plain words count.
    """
    if is_placeholder(value) or (_PATH.now.match(value) and not _looks_base64(value)):
        return False
    if any(space in value for space in b" \t"):
        return site is not Site.BARE and _is_phrase(value, password=password)
    match site:
        case Site.EXPLICIT:
            return _is_explicit_secret(value, password=password)
        case Site.QUOTED:
            return _is_quoted_secret(value, password=password)
        case Site.BARE:
            return _is_bare_secret(value, password=password)


def _is_explicit_secret(value: bytes, *, password: bool) -> bool:
    if _NUMBER.now.match(value) and not (password and value.isdigit()):
        return False
    return len(value) >= 3 and not _is_own_name(value) and not _CALL.now.match(value)


def _is_quoted_secret(value: bytes, *, password: bool) -> bool:
    if _LABEL.now.match(value):
        if password:
            return len(value) >= 4 and not _PASSWORDISH.now.search(value)
        return len(value) >= 20 and value.isalpha() and not _NAMED.now.search(value)
    return len(value) >= (3 if password else 6)


def _is_bare_secret(value: bytes, *, password: bool) -> bool:
    if len(value) < (4 if password else 6) or _CALL.now.match(value) or _NAME.now.match(value):
        return False
    if _NUMBER.now.match(value):
        return password and value.isdigit()
    if value.replace(b"_", b"a").isalnum() and _PASSWORDISH.now.search(value):
        return False  # a variable such as password2
    return bool(
        _DIGIT.now.search(value) or (_SYMBOL.now.search(value) and not _LABEL.now.match(value))
    )


def _is_own_name(value: bytes) -> bool:
    """Tell ``TOKEN=GITHUB_TOKEN`` and ``--password PASSWORD``: a name in a secret's place."""
    return bool(
        value.isupper() and re.fullmatch(rb"[A-Z_]+", value) and _PASSWORDISH.now.search(value)
    ) or value.upper() in {b"KEY", b"PAT", b"VALUE", b"STRING"}


def _is_phrase(value: bytes, *, password: bool) -> bool:
    """Tell a password with blanks from a label: few words and something that is no letter."""
    words = value.split()
    return (
        password
        and 2 <= len(words) <= 3
        and bool(_DIGIT.now.search(value) or _SYMBOL.now.search(value))
        and not _PASSWORDISH.now.search(value)
    )


def _looks_base64(value: bytes) -> bool:
    """Tell base64, which may hold slashes, from a path: long, no dots, digits and both cases."""
    return (
        len(value) >= 32
        and value.count(b"/") <= len(value) // 12
        and not value.translate(
            None, b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
        )
        and bool(_DIGIT.now.search(value))
        and not value.islower()
    )
