"""Does a text send its reader to a conversation, an earlier message, or something "above"?

A fresh session has no conversation above it. A noun such as "session" alone means nothing: it is
the pointing (previous, last, above, our, what we said) together with the asking (see, check, use,
per, as) that makes a reference. A message or discussion that has a place of its own, such as an
issue, is a place and not the conversation.
"""

from __future__ import annotations

import re
from typing import Final

from handoffs.text_rules.words import QUOTED, spaced, words

_TALK: Final = (
    r"(?:(?:conversation|chat|message|session|discussion)s? (?:history|log|logs|record|transcript)"
    r"|conversations?|convo|chats?|transcripts?|dialogues?|dialog|scrollback)"
)
"""Nouns that hardly mean anything but talk."""
_MEETING: Final = r"(?:sessions?|context window)"
_PLACED: Final = (
    r"(?:discussions?|threads?|messages?|exchanges?|turns?|prompts?|replies|reply|responses?"
    r")"
)
"""Nouns that also live in an issue, a queue or a file."""
_ANY: Final = rf"(?:{_TALK}|{_MEETING}|{_PLACED})"
_THEN: Final = r"(?:previous|earlier|prior|preceding|last|past|foregoing|most recent|latest|above)"
_ASK: Final = (
    r"(?:see|read|reread|re-read|check|review|consult|follow|use|recall|remember|revisit|search"
    r"|refer(?: back)? to|reference|look(?: back)? (?:at|in|into|through|over|to|up)"
    r"|go(?: back)? (?:to|through|over)|scroll(?: back| up)*(?: to| through)?|open"
    r"|based on|according to|as per|per|consider)"
)
_LINK: Final = r"(?:(?:please|again|carefully|first|back|the|whole|full|entire|rest|all|of|to|my|your|our|its|end|start|beginning|plan|notes?|details?|instructions?|decisions?|what|is|was|in|from|and|for) ){0,6}"
_CLOSE: Final = (
    r"(?= ?$| [,:()\[\]?]| (?:of|in|on|from|at|for|to|and|then|or|above|before|earlier|so|with|about"
    r"|where|which|that|when|as|again|first|between|by|we|you|i|if|because|is|was|has|had|thread)\b)"
)
"""What follows a noun that stands for itself, and not before another noun."""
_PLACE: Final = (
    rf"(?! (?:in|on|from|of|at|under|to|sent|between|with|by) (?!(?:the |this |our |my |your )?"
    rf"(?:{_TALK}|session|above|me|you|us)\b))"
)
_SPOKE: Final = (
    r"(?:discussed|talked|agreed|chatted|spoke|spoken|debated|settled on|went over|gone over)"
)
_TOLD: Final = r"(?:said|told|mentioned|explained|described|outlined|wrote|decided|planned|asked|covered|proposed|suggested)"
_DOCUMENT: Final = rf"(?! (?:in|at|on|under|by|with|during) (?!(?:the |this |our |my |your )?(?:{_THEN} )?{_ANY}\b))(?! below)"

_PATTERNS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        # "check the last session of Codex", "see the conversation above", "read our earlier chat"
        rf" {_ASK} {_LINK}{_THEN} (?:few |two |three |{QUOTED} )?(?:{_TALK}|{_MEETING}){_CLOSE}",
        rf" {_ASK} {_LINK}{_THEN} (?:few |two |three )?{_PLACED}{_CLOSE}{_PLACE}",
        rf" {_ASK} {_LINK}(?:{_ANY}|plan|request) (?:above|so far|up to now|until now)\b",
        rf" {_ASK} {_LINK}(?:{_ANY}) (?:that )?(?:we|you|i) (?:just )?had\b",
        # "read the transcript": a conversation that is in no place of its own
        rf" (?:see|read|reread|re-read|check|review|consult|recall|remember|revisit|refer(?: back)? to"
        rf"|look(?: back)? (?:at|in|into|through|over)|go(?: back)? (?:to|through|over)|scroll(?: back| up)*"
        rf"(?: to| through)?) (?:(?:please|again|carefully|back|this|that|the|whole|full|entire|rest|of|our|my|your) ){{0,4}}"
        rf"{_TALK}(?= ?$| [,()?]| (?:for|and|then|above|again|first|before|to|where|if)\b)",
        # "from our earlier discussion", "per our chat"
        rf" (?:per|from|in|after|following|on|to|with|see|recall|remember|of|continue|during|since|by) our "
        rf"(?:{_THEN} |recent |initial |original )?(?:{_TALK}|discussions?|exchange|talk){_CLOSE}{_PLACE}",
        rf" (?:from|in|per|by|since|during|of) (?:the |our |my |your )(?:{_THEN}) (?:{_TALK}){_CLOSE}",
        rf" our {_THEN} (?:session|message|thread|exchange|messages|turns?){_CLOSE}",
        rf"(?:^| (?:and|then|please|just|now|,|:)) (?:continue|resume|proceed|go on|carry on|pick up)(?: (?:from|with|on|at|where|the|our|my|it|this|that|in)){{0,4}}"
        rf" (?:{_THEN} )?{_TALK}{_CLOSE}",
        # "the details are in the chat above"
        rf" (?:in|from|of|per|by|at|to) (?:the |our |my |your |this |that )?(?:{_TALK}|{_MEETING}|messages?|discussion|exchange) above\b",
        rf" (?:is|are|was|were)(?: all)? in (?:the|our|this|that) (?:{_THEN} )?{_TALK}(?= ?$| [,()])",
        rf" {_SPOKE} (?:\S+ ){{0,6}}(?:in|during) (?:the|our|a) {_THEN} (?:{_TALK}|{_MEETING}){_CLOSE}",
        # "see my previous message"
        rf" {_ASK} {_LINK}(?:my|your|the user's|the person's) (?:{_THEN}|first|original|initial|other) "
        rf"(?:{_PLACED}|comments?|explanations?|request|requests|question|answer|instructions?){_CLOSE}",
        # "what we discussed", "the plan you and I agreed on", "as agreed"
        rf" (?:we|you and i|i and you|the user and i)(?: (?:had|have|just|already|all|both|previously|earlier|originally|'ve))?"
        rf"(?: just| already)? {_SPOKE}\b{_DOCUMENT}",
        rf" (?:what|everything|whatever|all|things?|the way|the one)(?: that)? (?:we|you|i|he|she)"
        rf"(?: (?:had|have|just|already|previously|earlier))? {_TOLD}\b{_DOCUMENT}",
        rf" as (?:you|i|the user)(?: (?:had|have|just|already|previously|earlier))? (?:said|told|mentioned|explained|described)\b{_DOCUMENT}",
        rf" (?:what|everything|all|whatever)(?: that)? (?:was|has been|had been|were|we've|we've just|i've|you've)"
        rf"(?: (?:just|already|previously|earlier))? (?:{_SPOKE}|said|mentioned){_DOCUMENT}(?! (?:above|below))",
        rf"(?<!^) as(?: was| were| we| already)? (?:discussed|agreed|talked about){_DOCUMENT}"
        r"(?= ?$| [,.()]| (?:above|earlier|before|previously|and|then|with (?:me|you)|in)\b)",
        r"^ as(?: already)? (?:discussed|agreed|talked about) ,",
        # "continue above", "see above", "do the above", "scroll up"
        r" (?:continue|proceed|resume|carry on|go on|pick up|start)(?: (?:from|with|as|on|the|at|where|it)){0,3} above(?= ?$| [,:)]| (?:and|then|to|for)\b)",
        r"(?:^| [,:]| (?:and|then|please|just|to|first|also|but))(?: (?:please|just|then))? (?:see|read|check|look|look at|refer to|reread|follow)"
        r"(?: (?:from|at|up|as|to|back|everything|all|the|what|is|was|said)){0,4} above(?= ?$| [,:]| (?:and|then|for (?:details|context|more|the))\b)",
        r" (?:do|continue|finish|complete|execute|redo|handle|address)(?: (?:all|of|with|on)){0,2} the above(?= ?$| [,:)]| (?:and|then)\b)",
        r" scroll (?:back )?up(?= ?$| [,:)]| (?:and|then|to|for)\b)",
        r"^ (?:same )?as above ?$",
    )
)

_HAN: Final = tuple(
    re.compile(pattern)
    for pattern in (
        "(?:见|看|查看|参见|参考|参照|根据|按照|按|依照|如|继续|回顾|阅读|翻看|見|查看|參見|參考|參照|根據|繼續|回顧|閱讀)"
        "[了一下]{0,2}(?:我们|我們|你|我)?(?:之前|先前|上面|前面|刚才|剛才|上次|此前|早先|以上|上述|上文|上一次|历史|歷史)?的?"
        "(?:对话|對話|聊天|会话|會話|谈话|談話|讨论|討論|聊天记录|聊天記錄|消息|訊息)",
        "(?:上面|上文|前面|上述|以上|之前|先前|刚才|剛才|上次|上一条|上一條|上一轮|上一輪)的?"
        "(?:对话|對話|聊天|会话|會話|谈话|談話|讨论|討論|消息|訊息)",
        "(?:我们|我們|咱们|你我)(?:之前|先前|上面|刚才|剛才|上次|此前|已经|已經)?"
        "(?:讨论|討論|商量|谈|談|聊|约定|約定|说|說)(?:过|過|好|到|定)?(?:了|的)",
        "(?:见|看|参见|參見|見|继续|繼續|接着|接著|同)(?:上文|上面|以上|前文)(?:的内容|的內容|部分)?(?:$|[,，。；;!！\\s])",
        "(?:继续|繼續|接着做|接著做)(?:做)?(?:上面|上文|上述|前面)的?(?:内容|內容|工作|任务|任務)?$",
        "如(?:上|前)(?:所述|文所述|面所说|面所說)",
    )
)


def refers(sentence: str) -> bool:
    """Tell whether one sentence, quoted spans already removed, sends its reader there."""
    text = spaced(words(sentence))
    if any(pattern.search(text) for pattern in _PATTERNS):
        return True
    return not sentence.isascii() and any(pattern.search(sentence) for pattern in _HAN)
