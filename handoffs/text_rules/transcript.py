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
    r"(?:(?:conversation|chat|message|session|discussion)s? (?:history|log|logs|record"
    r"|transcript)|conversations?|convo|chats?|transcripts?|dialogues?|scrollback)"
)
"""Nouns that hardly mean anything but talk."""
_MEETING: Final = r"(?:sessions?|context window)"
_PLACED: Final = (
    r"(?:discussions?|threads?|messages?|exchanges?|turns?|prompts?|replies|reply|responses?)"
)
"""Nouns that also live in an issue, a queue or a file."""
_ANY: Final = rf"(?:{_TALK}|{_MEETING}|{_PLACED})"
_SAID: Final = rf"(?:{_ANY}|plan|request|context|history)"
_THEN: Final = r"(?:previous|earlier|prior|preceding|last|past|foregoing|most recent|latest|above)"
_OWN: Final = r"(?:the |this |our |my |your )?"
_LOOK: Final = (
    r"(?:see|read|reread|re-read|check|review|consult|recall|remember|revisit|skim|study"
    r"|refer(?: back)? to|look(?: back)? (?:at|in|into|through|over)|go(?: back)? (?:to|through"
    r"|over)|scroll (?:back|up)(?: up)?(?: to| through)?)(?! of)"
)
_ASK: Final = (
    rf"(?:{_LOOK}|follow|use|ask|search|reference|look up|open|based on|according to|as per|per"
    r"|consider|implement|execute)"
)
_LINK: Final = (
    r"(?:(?:please|again|carefully|first|back|the|whole|full|entire|rest|all|of|to|my|your|our"
    r"|its|end|start|beginning|plan|notes?|details?|instructions?|decisions?|points?|items?"
    r"|steps?|list|code|snippet|answer|fix|approach|ideas?|proposals?|suggestions?|findings|up|on"
    r"|what|is|was|given|in|from|and|for) ){0,6}"
)
"""What may stand between asking and pointing."""
_STOP: Final = r" ?$| [,:()\[\]?]"
_CLOSE: Final = (
    rf"(?={_STOP}| (?:of|in|on|from|at|for|to|and|then|or|above|before|earlier|so|with|about"
    r"|where|which|that|what|how|who|when|as|again|first|between|by|we|you|i|if|because|is|was|has|had)\b)"
)
"""What follows a noun that stands for itself, and not before another noun."""
_NO_PLACE: Final = (
    r"(?! (?:in|on|from|of|at|under|to|sent|between|with|by)"
    rf" (?!{_OWN}(?:{_TALK}|session|above|me|you|us)\b))"
)
_NO_DOCUMENT: Final = (
    rf"(?! (?:in|at|on|under|by|with|during) (?!{_OWN}(?:{_THEN} )?{_ANY}\b))(?! below)"
)
_ALREADY: Final = r"(?: (?:had|have|just|already|all|both|previously|earlier|originally|'ve)){0,2}"
_PUT: Final = (
    r"(?:mentioned|described|outlined|explained|discussed|agreed|decided|settled|stated|specified"
    r"|talked about|requested|proposed|suggested|spelled out|laid out|noted|raised|covered|listed"
    r"|given)"
)
"""What was done with something in a conversation."""
_TOLD_THINGS: Final = (
    r"(?:steps?|plans?|notes?|snippets?|code|lists?|points?|instructions?|approach|answers?"
    r"|designs?|ideas?|details?|fix|findings|requirements?|decisions?|summary|conclusions?"
    r"|suggestions?|reasoning|rationale|explanations?|todos?|context|background)"
)
"""What is found in a conversation when it is asked for."""
_NOBODY: Final = "".join(
    f"(?<! {word})" for word in ("user", "person", "we", "i", "you", "they", "he", "she", "have")
)
"""Not what somebody said, which is told there; what was said is not."""
_SPOKE: Final = (
    r"(?:discussed|talked|agreed|chatted|spoke|spoken|debated|settled on|went over|gone over)"
)
_TOLD: Final = (
    r"(?:said|told|mentioned|explained|described|outlined|wrote|decided|planned|asked|covered"
    r"|proposed|suggested)"
)
_WE: Final = r"(?:we|you and i|i and you|the user and i)"
_PERSON: Final = r"(?:we|you|i|he|she|they|the user)"
_WHAT: Final = r"(?:what|everything|whatever|all|things?|the way|the one)(?: that)?"
_WAS: Final = r"(?:was|has been|had been|were|we've|i've|you've)"
_ASKING: Final = r"(?:^| [,:]| (?:and|then|please|just|first|also|but|now))(?: please| just)?"
"""Where a request begins."""
_GO_ON: Final = r"(?:continue|resume|proceed|go on|carry on|pick up)"
_END: Final = r"(?= ?$| [,()?]| (?:and|then|before|above|first|for)\b)"
_THEN_ON: Final = rf"(?={_STOP}| (?:and|then|to|for)\b)"

_EARLIER_TALK: Final = (
    # "check the last session of that agent", "see the conversation above", "read our earlier chat"
    rf" {_ASK} {_LINK}{_THEN} (?:few |two |three |{QUOTED} )?(?:{_TALK}|{_MEETING}){_CLOSE}",
    rf" {_LOOK} {_LINK}{_THEN} (?:few |two |three )?{_PLACED}{_CLOSE}{_NO_PLACE}",
    rf" {_ASK} {_LINK}{_THEN} (?:discussions?|exchanges?|replies|reply){_CLOSE}{_NO_PLACE}",
    (
        r"^(?: please| then| now)* (?:apply|use|reuse|follow|implement|do|take|fix|address|finish"
        r"|complete|incorporate|adopt|start from|work from|work off)(?: \S+){1,5}? (?:from|in|of)"
        rf" (?:the|our) {_THEN} (?:turns?|exchanges?|discussions?|{_TALK}){_END}"
    ),
    rf" (?:{_ASK}|{_GO_ON}(?: with)?) {_LINK}{_SAID} (?:above|so far|up to now|until now)\b",
    rf" {_ASK} {_LINK}{_ANY} (?:that )?(?:we|you|i) (?:just )?had\b",
    # "read the transcript": a conversation that is in no place of its own
    (
        rf" {_LOOK} (?:(?:please|again|carefully|back|through|over|into|this|that|the|whole"
        r"|full|entire|rest|of"
        rf"|our|my|your) ){{0,4}}{_TALK}"
        r"(?= ?$| [,()?]| (?:for|and|then|above|again|first|before|to|where|if|of (?:the|our)"
        rf" {_THEN})\b)"
    ),
    # "from our earlier discussion", "per our chat"
    (
        r" (?:per|from|in|after|following|on|to|with|see|recall|remember|of|continue|during|since"
        r"|by)"
        rf" our (?:{_THEN} |recent |initial |original )?(?:{_TALK}|discussions?|exchange|talk)"
        rf"{_CLOSE}{_NO_PLACE}"
    ),
    rf" (?:from|in|per|by|since|during|of) (?:the|our|my|your) {_THEN} {_TALK}{_CLOSE}",
    rf" our {_THEN} (?:sessions?|messages?|threads?|exchanges?|turns?){_CLOSE}",
    (
        rf"{_ASKING} {_GO_ON}(?: (?:from|with|on|at|where|the|our|my|it|this|that"
        rf"|in)){{0,4}} (?:{_THEN} )?{_TALK}{_CLOSE}"
    ),
    # "the details are in the chat above"
    (
        rf" (?:in|from|of|per|by|at|to) {_OWN}(?:that )?"
        rf"(?:{_TALK}|{_MEETING}|messages?|discussion|exchange) above\b"
    ),
    (
        rf" (?:is|are|was|were)(?: all)? in (?:the|our|this|that) (?:{_THEN} )?{_TALK}"
        r"(?= ?$| [,()])"
    ),
    (
        r" (?:is|are|was|were|stands?)(?: all)? in (?:(?:one|some|several|any) of )?(?:the|our|my"
        r"|your)"
        rf" {_THEN} (?:messages?|turns?|replies|reply|exchanges?|discussions?)(?= ?$| [,()])"
    ),
    (
        rf" {_SPOKE} (?:\S+ ){{0,6}}(?:in|during) (?:the|our|a) {_THEN} (?:{_TALK}"
        rf"|{_MEETING}){_CLOSE}"
    ),
    # "the fix mentioned earlier in this chat", "explained in the previous turn"
    (
        rf" (?:earlier|above|before|previously|higher up|further up) in (?:this|the"
        rf"|our) (?:{_TALK}|{_MEETING}|discussion){_CLOSE}"
    ),
    (
        rf"{_NOBODY} {_PUT}(?: \S+){{0,3}}? (?:in|during|by) {_OWN}{_THEN} (?:{_TALK}|{_MEETING}"
        rf"|discussions?|messages?|turns?|replies|reply|answers?){_END}"
    ),
    (
        rf"{_NOBODY} {_PUT}(?: \S+){{0,2}}? (?:in|during) (?:the|this|our) (?:conversation"
        rf"|chat){_END}"
    ),
    (
        rf" {_TOLD_THINGS} (?:{_PUT} )?(?:from|in|off) (?:the|our|my|your"
        rf"|that) {_THEN} (?:{_TALK}|{_MEETING}|{_PLACED}|answers?|discussions?){_END}"
    ),
    (
        rf" {_ASK}(?: \S+){{0,4}}? {_TOLD_THINGS} (?:{_PUT} )?(?:from|in) (?:the|our|this)"
        r" (?:conversation|chat|transcript|discussion)(?= ?$| [,()])"
    ),
    (
        r" (?:look|go|read|scroll|think) back (?:through|over|at|to|on) (?:the|our|all)"
        rf" (?:messages|turns|thread|discussion|exchange|replies){_END}"
    ),
    rf" {_TALK} above{_THEN_ON}",
    rf" {_LOOK}(?: \S+){{0,2}} our (?:{_TALK}|discussions?|exchange|messages?|thread){_CLOSE}",
    (
        r" (?:know|remember|recall|clear|obvious)(?: \S+){0,5}? from (?:the|our|this)"
        rf" {_TALK}{_END}"
    ),
    r" the (?:above|aforementioned|foregoing) (?:conversations?|chats?|transcripts?)\b",
    rf" (?:{_PLACED}|comments?) ago ",
    # "see my previous message", "see my message from before"
    rf" {_LOOK} (?:my|your) {_PLACED} from (?:before|earlier|above|yesterday|last time)\b",
    (
        rf" {_ASK} {_LINK}(?:my|your|the user's|the person's) (?:{_THEN}|first|original|initial"
        rf"|other) (?:{_PLACED}|comments?|explanations?|requests?|question|answer"
        rf"|instructions?){_CLOSE}"
    ),
    (
        rf"^(?: as)?(?: in| like| from| per)? my {_THEN} (?:messages?|turns?|replies|reply"
        r"|responses?|comments?|answers?)\b(?! (?:queue|handler|id|box|body|text|field))"
    ),
    (
        rf" {_ASK} {_LINK}{_THEN} (?:assistant|agent|user|model|ai|human)(?:'s)? (?:messages?"
        rf"|turns?|replies|reply|responses?|answers?){_CLOSE}{_NO_PLACE}"
    ),
)
_WHAT_WAS_SAID: Final = (
    (
        r" i(?: (?:have|had|already|just))* (?:pasted|posted|shared|gave|sent|showed|listed|wrote"
        rf"|put|provided|quoted|attached|{_TOLD})(?: (?:you|it|them|this))? (?:above|earlier"
        r"|before"
        rf"|previously){_CLOSE}"
    ),
    (
        r" (?:what|everything|whatever)(?: (?!to |be |should |needs |must )\S+){1,4}"
        rf" (?:agreed|discussed|talked about|settled on)(?: on| upon)?{_THEN_ON}"
    ),
    (
        r"^ (?:all|everything|all of that|all points|the points)(?: (?:listed|said"
        r"|mentioned))? above"
        r"(?: still)? (?:applies|apply|holds|hold|stands|stand|remains|remain)\b"
    ),
    # "what we discussed", "the plan you and I agreed on", "as agreed"
    (
        rf" {_WE}{_ALREADY} (?:came up with|come up with|laid out|worked out|sketched|decided on"
        r"|mapped out|figured out|drew up|put together|outlined|planned|designed) (?:earlier"
        r"|before|previously|together|above|last time|yesterday|already)\b"
    ),
    (
        rf" {_WE}{_ALREADY} {_SPOKE}(?: (?:on|about|over|through|with (?:me|you)))?{_NO_DOCUMENT}"
        rf"(?={_STOP}| {QUOTED}| (?:earlier|before|previously|already|above|last|in|during"
        r"|yesterday"
        rf"|today|about|regarding|concerning|and|then"
        r"|is|are|was|were|has|have|still|needs?|should|must)\b)"
    ),
    rf" {_WHAT} (?:we|you|i|he|she){_ALREADY} {_TOLD}\b{_NO_DOCUMENT}",
    (
        rf" {_WHAT} (?:we|you|i) (?:did|tried|wrote|had|were doing) (?:earlier|before|last time"
        rf"|then)\b"
    ),
    (
        rf" (?:as|like) (?:you|i|the user){_ALREADY} (?:said|told|mentioned|explained"
        rf"|described)\b{_NO_DOCUMENT}"
    ),
    (
        rf" (?:{_ASK}|do|finish|complete|continue|deliver|from|of|to|by|on|with) {_LINK}"
        rf"(?:what|everything|all|whatever)(?: that)? {_WAS}{_ALREADY}"
        rf" (?:{_SPOKE}|said|mentioned){_NO_DOCUMENT}(?! (?:above|below|since|first|last)\b)"
    ),
    (
        rf" (?:what|everything|all|whatever)(?: that)? {_WAS}{_ALREADY} (?:{_SPOKE}|said"
        r"|mentioned) (?:earlier|before|previously|yesterday|last time|in (?:the|our|this) "
        rf"(?:{_THEN} )?{_TALK})\b"
    ),
    (
        rf"(?<!^) as(?: was| were| we| already)? (?:discussed|agreed|talked about){_NO_DOCUMENT}"
        rf"(?={_STOP}| (?:above|earlier|before|previously|and|then|with (?:me|you)|in)\b)"
    ),
    (
        r"^ as(?: (?:already|previously|earlier|we|just|was)){0,2} (?:discussed|agreed"
        r"|talked about)(?: (?:earlier|before|previously|yesterday|last time))? ,"
    ),
    (
        rf"{_ASKING} {_ASK} (?:the|our|that) (?:previously|earlier|already|just)"
        r" (?:discussed|agreed|mentioned|described|talked) "
    ),
    (
        rf"{_ASKING} (?:do|implement|finish|complete"
        rf"|deliver) {_WHAT} {_PERSON}{_ALREADY} (?:{_TOLD}|wanted|requested)\b{_NO_DOCUMENT}"
    ),
)
_ABOVE: Final = (
    # "continue above", "see above", "do the above", "scroll up"
    rf" (?:{_GO_ON}|start)(?: (?:from|with|as|on|the|at|where|it)){{0,3}} above{_THEN_ON}",
    (
        rf"{_ASKING} (?:see|read|check|look|look at|refer|refer to|reread|follow)"
        r"(?: (?:from|at|up|as|to|back|everything|all|the|what|is|was|said)){0,4} above"
        rf"(?={_STOP}| (?:and|then|for (?:details|context|more|the))\b)"
    ),
    (
        rf"{_ASKING} (?:do|continue|finish|complete|execute|redo|handle|address)"
        rf"(?: (?:all|of|with|on)){{0,2}} the above{_THEN_ON}"
    ),
    (
        rf"{_ASKING} (?:do|(?:continue|proceed|resume|go on|carry on)(?: with)?|finish|complete"
        r"|execute|redo|handle|address|fix|apply|implement|work through|go through|carry out"
        r"|tackle|perform|resolve)(?: \S+){0,3}? (?:list|steps?|tasks?|points?|items?|plan|todos?"
        r"|issues?|changes|bullets?)"
        r"(?: (?:listed|mentioned|described|outlined|given|noted|named|discussed))? above"
        rf"{_THEN_ON}"
    ),
    rf"{_ASKING} (?:as )?per the above{_THEN_ON}",
    rf"{_ASKING} scroll (?:back )?up{_THEN_ON}",
    r"^ (?:same )?as above ?$",
    r"^ \( (?:please )?see above \) ?$",
)
_PATTERNS: Final = tuple(
    re.compile(pattern) for pattern in (*_EARLIER_TALK, *_WHAT_WAS_SAID, *_ABOVE)
)

_TRIGGER: Final = re.compile(
    rf"{_SAID}|{_SPOKE}|{_TOLD}|answer| (?:above|so far|earlier|before|last time|then) | scroll "
)
"""Every pattern needs one of these words; most sentences have none."""

_HAN_THEN: Final = (
    "(?:之前|先前|上面|前面|刚才|剛才|上次|此前|早先|以上|上述|上文"
    "|上一次|上一条|上一條|上一轮|上一輪|历史|歷史)"
)
_HAN_TALK: Final = "(?:对话|對話|聊天|会话|會話|谈话|談話|讨论|討論|消息|訊息)"
_HAN_OTHER: Final = "(?!框|窗|室|页|頁|界面|列表|模型|组件)"
"""Not the first part of a longer noun."""
_HAN_LOOK: Final = (
    "(?:见|看|查看|参见|参考|参照|根据|按照|按|依照|如|继续|回顾|阅读|翻看"
    "|見|參見|參考|參照|根據|繼續|回顧|閱讀)"
)
_HAN: Final = tuple(
    re.compile(pattern)
    for pattern in (
        f"{_HAN_LOOK}[了一下]{{0,2}}(?:我们|我們|你|我)?{_HAN_THEN}?的?{_HAN_TALK}{_HAN_OTHER}",
        f"{_HAN_THEN}的?{_HAN_TALK}{_HAN_OTHER}",
        (
            f"(?:我们|我們|咱们|你我)(?:已经|已經|{_HAN_THEN})?"
            "(?:讨论|討論|商量|谈|談|聊|约定|約定|说|說)(?:过|過|好|到|定)?(?:了|的)"
        ),
        (
            "(?:见|看|参见|參見|見|继续|繼續|接着|接著|同|参照|參照|参考|參考|按照|根据|根據)(?:上文|前文)"
        ),
        (
            "(?:见|看|参见|參見|見|继续|繼續|接着|接著|同)(?:上面|以上)"
            "(?:的内容|的內容|部分)?(?:$|[,，。；;!！\\s])"
        ),
        "(?:继续|繼續|接着做|接著做)(?:上面|上文|上述|前面)的?(?:内容|內容|工作|任务|任務)?$",
        "如(?:上所述|前所述|上文所述|前文所述|上面所说|前面所说|上面所說)",
    )
)


def refers(sentence: str) -> bool:
    """Tell whether one sentence, quoted spans already removed, sends its reader there."""
    text = spaced(words(sentence))
    if _TRIGGER.search(text) and any(pattern.search(text) for pattern in _PATTERNS):
        return True
    return not sentence.isascii() and any(pattern.search(sentence) for pattern in _HAN)
