"""What kind of remark a message is: a bare "yes, go on", something that binds, something definite.

Closed word lists, English and a little of others; a word outside them never makes a claim, since
what is chosen by them is quoted as it was said. Loads nothing of the text rules: every finish asks.
"""

from __future__ import annotations

import re
from typing import Final

from handoffs.vocabulary import listed

MOST: Final = 60
"""Characters; a longer message is taken to say something."""
_ASSENT: Final = listed(
    "yes y yep yeah yup sure ok okay k kk fine good great nice perfect cool excellent awesome"
    " thanks thank you thx ty please pls lgtm correct right agreed exactly done alright all looks"
    " sounds seems works that this it is its thats go goes on ahead continue proceed resume keep"
    " going do so next now then and just more again carry very much to me for the a s ja weiter"
    " danke gut oui si da bitte"
)
_HAN: Final = re.compile(
    "(?:好的?|可以|行|是的?|对|對|没问题|沒問題|谢谢|謝謝|继续|繼續|请|請|吧|了|没错|沒錯|嗯|同意|はい"
    "|お願いします|続けて(?:ください)?|네|계속|[\\s,，、.。!！])+"
)
_WORD: Final = re.compile(r"[a-z0-9_]+")
_NAMING: Final = re.compile(r"[#$%/\\`=@:;_0-9]")
"""A character of something that is named: a path, a number, an identifier, code."""


_BINDING: Final = re.compile(
    r"\b(?:never|always|must(?:n't)?|do not|don't|rule|forbidden|from now on|instead|no longer"
    r"|any ?more|stays?|keep|leave|only|not now|later|before (?:we|you|i)|remember|no(?=,)|no more"
    r"|drop|stop)\b|不要|不能|必须|必須|只能|永远|永遠|以后|以後|改成|改为|改為|别|禁止|ないで|必ず|代わりに",
    re.IGNORECASE,
)
_DEFINITE: Final = re.compile(
    r"`|[a-z]_[a-z]|[a-z][A-Z]|\w\(\)|\w/\w|\w\.[a-z]{1,4}\b|(?<![\w.])\d{2,}|::|->", re.ASCII
)


def is_assent(text: str) -> bool:
    """Tell whether a message only agrees, thanks, or says to go on; an empty one does not.

    Such a message asks for nothing by itself: what it means stands in the message it answers.
    """
    stripped = text.strip()
    if not stripped or len(stripped) > MOST:
        return False
    if not stripped.isascii():
        return _HAN.fullmatch(stripped) is not None
    words = _WORD.findall(stripped.lower())
    return not _NAMING.search(stripped) and bool(words) and all(word in _ASSENT for word in words)


def binds(text: str) -> bool:
    """Tell whether a message sounds like a rule, a correction, or something put off."""
    return _BINDING.search(text) is not None


def is_definite(text: str) -> bool:
    """Tell whether a message names something: code, a path, a number, an identifier."""
    return _DEFINITE.search(text) is not None
