"""Is a sentence only a form of "go on"?

The rule is a closed vocabulary: a sentence is empty when every word of it only says that something
is to go on, be begun or be ended, or is filler, and one phrase of it says so. One word outside the
vocabulary (a file, a tool, a thing with a name) is something definite, and the sentence stands.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import Final

from handoffs.text_rules.words import QUOTED, spaced, words
from handoffs.vocabulary import listed

_GO_ON: Final = listed(
    "continue continues continued continuing continuation keep keeps keeping going proceed"
    " proceeds"
    " proceeding proceeded resume resumes resumed resuming resumption finish finishing finalize"
    " finalise complete completing carry carrying move moving press push pushing advance go get"
    " getting pick picking take taking start starting begin beginning wrap wrapping do doing done"
    " make making implement work working follow following execute perform handle tackle address"
    " see look"
    " stick tbd tba tbc todo todos to-do to-dos wip n/a none nothing pending ongoing"
    " in-progress progress try trying deal needful"
)
_THINGS: Final = listed(
    "work works task tasks job jobs thing things stuff rest remaining remainder remains it its"
    " this that these those them everything anything something all plan plans planned place point"
    " spot step steps next phase phases part parts item items effort efforts project"
    " implementation"
    " implementing development developing coding code process procedure activity objective goal"
    " goals assignment feature features details detail bits pieces matters business track one"
    " ones session sessions agent assistant person user colleague run turn"
    " time morning evening night day week sprint list change changes loose ends"
)
_FILLER: Final = listed(
    "please just now then and or but to the a an on onto with from for of in into at by as so"
    " far up"
    " off out over over back me we you i us our your my their his her let let's lets previous"
    " previously earlier last left current currently existing prior before after ongoing same"
    " where"
    " what whatever which who was were is are be been being have had has having will should must"
    " can could would need needs needed want more further forward forwards along again until till"
    " once when whenever while ready possible necessary usual normal normally accordingly ahead"
    " hard good great ok okay sure yes yep well also still simply try best soon immediately asap"
    " today tomorrow later first already left-off directly straight down about here there away"
    " through finished completed stopped started paused interrupted began ended doing without"
    " stopping"
    " delay pause further any other others each every both i'm i'll we'll we're you'll you're"
    " it's"
    " that's there's what's not yet if kindly help way order together fully entirely quickly"
    " determined decided defined figured continued and/or etc usual unfinished outstanding"
    " incomplete thanks thank cheers hi hello hey everyone team alright right anyway yesterday"
    " tonight monday hand else action actions given listed due course onward required whole"
    " entire"
    " full final overall general appropriate relevant carefully properly completely finally"
    " eventually gradually slowly steadily smoothly efficiently hopefully flow workflow momentum"
    " pace ball rolling thread route path direction line lines completion satisfied requested"
    " instructed directed required various several few different thing's exactly being such"
    " end still-open stage milestone  we've you've i've they is there there'll lots lot much"
    " stuff some plenty actually basically t.b.d"
    " t.b.a t.b.c doesn't isn't don't whichever onwards anything"
    " open pending upcoming following new original agreed discussed said"
)
_VOCABULARY: Final = _GO_ON | _THINGS | _FILLER

_NOT_SAID_OF: Final = "".join(
    f"(?<! {word} )" for word in ("a", "one", "the", "is", "are", "was", "be", "not", "now", "yet")
)
"""What makes "complete" a word for how something is, and not for what is to be done."""
_CORE: Final = re.compile(
    rf" (?:{_NOT_SAID_OF}complete|continu(?:e|es|ed|ing|ation)|resum(?:e|es|ing|ption)"
    r"|proceed(?:s|ing)?|finish(?:ing)?"
    r"|finali[sz]e|completing|tbd|tba|tbc|wip|n/a|todos?|to-dos?|in-progress|ongoing"
    r"|keep(?:s|ing)? (?:(?:it|on|up|this|that|things|everything|the|work|ball|momentum) ){0,3}"
    r"(?:going|rolling|working|doing|at|on|up|moving|pushing|coding|developing|implementing"
    r"|it up)|carry(?:ing)? (?:it |this |that |everything )?(?:on|through|forward|out)|next up"
    r"|go(?:ing)? (?:on|ahead|forward)|mov(?:e|ing) (?:on|ahead|forward|along)|press on"
    r"|push(?:ing)? (?:on|ahead|forward|through)|pick(?:ing)? (?:it |this |things |the work "
    r"|work |back )?(?:back )?up|wrap(?:ping)? (?:it |this |things |everything |the work )?up"
    r"|(?:the )?next (?:step|steps|task|tasks|phase|part|thing|item|items)|to be (?:continued"
    r"|done|determined|decided|defined|finished|completed)|(?:back|return|on) to (?:the |our "
    r"|my )?(?:work|business|task|job)|t\.b\.[dac]|(?:more|much|lots?|stuff|things?|something"
    r"|work|rest|some|plenty|still) (?:is |are |still |left |there )*to (?:do|finish|complete"
    r"|be done)|in progress|work in progress|as (?:planned|before|usual|agreed|needed)|(?:follow"
    r"|following|execute|stick to) (?:the |our |your |my )?plan) "
)
"""Phrases that say it wherever they stand."""
_REST: Final = r"(?:the |all |everything |this |that |it |what |whatever |is |of )*"
_ORDER: Final = re.compile(
    r"^ (?:(?:please|just|then|now|and|let's|let|us|me|i'll|we'll|i|we|you|should|must|need|needs"
    r"|to|have|also|simply|first|will|still|want|next) )*"
    r"(?:get(?:ting)? (?:on with|started|back to|it done|this done|things done|everything done)"
    r"|start(?:ing)? (?:working|work|the work|coding|from where|the next|with the next|on the)"
    r"|tak(?:e|ing) (?:it|over)|mak(?:e|ing) (?:more |further |good |some )?progress"
    r"|work(?:ing)? (?:on|through) (?:it|this|that|these|the (?:rest|task|tasks|work|remaining"
    r"|next))|(?:do|doing) (?:it|so|this|that|the (?:task|work|job|needful)|next|more work)|(?:do"
    r"|doing|handle|tackle|address|perform|execute|implement|deal with|return to) "
    rf"{_REST}(?:rest|remaining|remains|remainder|next|left|planned|needed|necessary|same"
    rf"|unfinished)"
    r"|same as (?:before|usual|last|previously|always|yesterday|ever)|try again|to do) "
)
"""Phrases that say it where a sentence begins with them."""
_ALONE: Final = re.compile(
    r"^ (?:nothing|none|pending|done|go|start|begin|open|work|same)(?: yet| more)? $|^ (?:all "
    r"|the |what |is )*(?:rest|remaining|remainder|remains|unfinished|outstanding|left)"
    r"(?: (?:work|tasks?|items?|steps?|parts?|things?|stuff|to do))? $|^ (?:(?:it|this|that|work"
    r"|task|everything|the work|the task|all)(?:'s)?(?: is| are)? )?"
    r"(?:still )?(?:unfinished|incomplete|open|pending|(?:not|isn't|to)(?: (?:yet|be|quite|fully"
    r"|all))* (?:finished|done|complete|completed|there|continued))(?: yet)? $"
)
_ENDING: Final = re.compile(
    r"^ (?:the |all |this |that )?(?:process|work|task|job|everything|implementation|it|we|you|i)"
    r"(?: is| are| was| were| now)* (?:complete|finished|completed|done) $"
)
"""Statements that something has ended; they tell something, if little."""

_LETS: Final = re.compile(r"^ let (?!us |me |you )")
"""Something is allowed to go on, which is another thing than that it has to."""
_NO_WORDS: Final = re.compile(r"[\s.\u2026!?*_~\u00b7\u2013\u2014-]*")

_HAN_WORD: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_HAN_EMPTY: Final = re.compile(
    "(?:请|請|然后|然後|就|再|并|並|先|接下来|接下來|现在|現在|你|我|我们|我們|直接|"
    "之前|先前|以前|前面|上次|刚才|剛才|原来|原來|未完成|没做完|沒做完|剩下|剩余|剩餘|其余|其餘|后续|後續|当前|當前|目前|手头|手頭|这个|這個|那个|那個|这些"
    "|這些|相同|"
    "从|從|在|把|将|將|按|按照|照|的|地|得|了|着|著|过|過|去|来|來|下去|下|中断|中斷|停下|离开|離開|地方|位置|那里|那裡|处|處|"
    "继续|繼續|接着|接著|接手|推进|推進|进行|進行|完成|开始|開始|恢复|恢復|执行|執行|处理|處理|做|干|搞|弄|跟进|跟進|收尾|"
    "工作|任务|任務|事情|事项|事項|活|项目|項目|内容|內容|部分|开发|開發|实现|實現|步骤|步驟|计划|計劃|原计划|原計劃|一切|所有|全部|"
    "待办|待辦|待定|未定|进行中|進行中|未完待续|未完待續|下一步|同上|同前|和|与|與|吧|即可|好|[\\s,，、:：…·-])+"
)
_HAN_CORE: Final = re.compile(
    "继续|繼續|接着|接著|接手|推进|推進|完成|恢复|恢復|执行|執行|处理|處理|开始|開始|跟进|跟進|收尾|做|"
    "剩下|剩余|剩餘|其余|其餘|未完成|没做完|沒做完|进行|進行|待办|待辦|待定|未定|未完待续|未完待續|下一步|同上|同前"
)


class Says(Enum):
    """What one sentence says."""

    GOES_ON = auto()
    """That it goes on, and nothing else."""
    NOTHING = auto()
    """Not even that: "OK", "thanks"."""
    SOMETHING = auto()


def says(sentence: str) -> Says:
    """Tell what one sentence, quoted spans already removed, says."""
    if not sentence.isascii() and _HAN_WORD.search(sentence):
        return Says.GOES_ON if _is_empty_han(sentence) else Says.SOMETHING
    found = [word for word in words(sentence) if word == QUOTED or word[0].isalnum()]
    if not found:
        return Says.GOES_ON if _NO_WORDS.fullmatch(sentence) else Says.SOMETHING
    if not all(word in _VOCABULARY or word.replace("'s", "") in _VOCABULARY for word in found):
        return Says.SOMETHING
    text = spaced(found)
    if _ALONE.match(text):
        return Says.GOES_ON
    if _ENDING.match(text) or _LETS.match(text) or sentence.rstrip().endswith("?"):
        return Says.SOMETHING
    return Says.GOES_ON if _CORE.search(text) or _ORDER.match(text) else Says.NOTHING


def _is_empty_han(sentence: str) -> bool:
    bare = sentence.rstrip("。！？；.!?; ")
    return _HAN_EMPTY.fullmatch(bare) is not None and _HAN_CORE.search(bare) is not None
