"""Does a text say that a check passed?

A claim is a check (tests, suite, lint, build, type check, CI, or the name of such a tool) and a
word of success about it in one clause, neither denied, nor hoped for, nor asked for, nor made a
condition. A text that itself names failures claims nothing that could be held against a pass.
"""

from __future__ import annotations

import re
from typing import Final

from handoffs.text_rules.words import QUOTED, sentences, spaced, unquoted, words
from handoffs.vocabulary import listed

_TOOL: Final = (
    r"(?:pytest|mypy|pyright|ruff|flake8|pylint|tox|nox|unittest|doctests?|clippy|rustfmt|eslint"
    r"|tslint|prettier|biome|tsc|jest|vitest|mocha|karma|cypress|playwright|rspec|rubocop|ctest"
    r"|junit|phpunit|golangci-lint|pre-commit|shellcheck|gradle|gradlew|maven|mvn"
    r"|(?:cargo|go|npm|yarn|pnpm|make|bun|mix|dotnet|swift|rails|node|bazel)(?: run)?"
    r" (?:test|tests|check|lint|build|vet|typecheck|ci))"
)
_CHECK: Final = (
    r"(?:tests?|testsuites?|suites?|specs?|test-suites?|test-cases?|testcases?|assertions?|lints?"
    r"|linters?|linting|builds?|compilation|type[ -]?checks?|type[ -]?check(?:er|ing)|typing|ci"
    r"|ci/cd"
    r"|pipelines?|checks?|formatting|static analysis|test_\w+(?:\.\w+)?|[\w/-]+_test\.\w+"
    r"|[\w/-]+_spec\.\w+|[\w/-]+\.(?:test|spec)\.\w+)"
)
_SUBJECT: Final = re.compile(rf" (?:{_TOOL}|{_CHECK})(?= )")
_HEAD_CASE: Final = (
    r"(?= ?$| (?:on|in|with|and|now|again|after|locally|for|at|under|since|without|but|as|too|from"
    r"|of|by|before|today|everywhere)\b)"
)
"""What may follow a noun that is no part of a longer one."""
_DIVIDES: Final = listed(", : ( ) [ ] and but so while though although because which whereas + =")

_AFTER: Final = (
    r"(?= ?$| (?:now|again|on|in|at|with|after|locally|for|under|when|since|cleanly|successfully"
    r"|fully|both|everywhere|too|as|well|here|there|without|across|before|today|yesterday|just"
    r"|fine|ok|all|consistently|including|this|then|or|either|also|\?|%|\d\S*)\b| [%?])"
)
_PASSES: Final = re.compile(rf" (?P<word>pass|passes|passed|passing|succeeds?|succeeded){_AFTER}")
_BE: Final = (
    r"(?:is|are|was|were|be|been|stays?|stayed|remains?|remained|went|go|goes|turned|come|comes"
    r"|came"
    r"|back|returns?|returned|reports?|reported|looks?|ran|runs|run|finished|completed|ended|all"
    r"|now"
    r"|again|still|both|also|already|completely|fully|entirely|100|%|fully)"
)
_GREEN: Final = (
    r"(?:green|clean|successful|ok|okay|happy|fine|error-free|warning-free|all-green|good|cleanly"
    r"|successfully)"
)
_IS_GREEN: Final = re.compile(rf" (?P<before>\S+) (?P<word>{_GREEN}){_AFTER}")
_STARTS_GREEN: Final = re.compile(rf"^ {_GREEN}{_AFTER}")
_BE_WORD: Final = re.compile(_BE)
_NO_ERRORS: Final = re.compile(
    r" (?:no|zero|0|without|without any) (?:(?:more|new|remaining|further|failing) )?"
    r"(?:(?P<sort>type|lint|linter|test|build|compile|compiler|compilation|typing|mypy|ruff) )?"
    r"(?:errors?|failures?|failed|failing|issues?|problems?|warnings?|complaints?|findings?)(?= )"
)
_EXIT_ZERO: Final = re.compile(
    r" exit(?:s|ed)? (?:with )?(?:a )?(?:(?:exit )?(?:code|status) )?(?:of )?(?:0|zero"
    r"|cleanly)(?= )"
)
_COUNTED: Final = re.compile(
    r"^(?: (?:now|and|with|result|results|summary|still|also|then))* (?P<count>\d[\d,_]*|\d+/\d+"
    r"|all"
    r"|everything|they|both)(?: (?:of|the|them|all|\d[\d,]*|has|have|are|is|were|was|now|just"
    r"|still))*"
    rf" (?:pass|passes|passed|passing|green|succeeded){_AFTER}"
)
_DETERMINER: Final = (
    r"(?:all|the|every|our|its|their|full|whole|entire|complete|existing|of|new|\d[\d,]*|on|unit"
    r"|integration|regression|in|relevant|both|a|an|local|strict)"
)
_PASSED_CHECK: Final = re.compile(
    rf" (?:passes|passed|passing)(?: {_DETERMINER}){{0,4}} (?:{_TOOL}|{_CHECK}|type checks?)"
    r"(?: (?:suites?|runs?|checks?|checking|tests?|jobs?|builds?|pipelines?|results?|rules?))?"
    + _HEAD_CASE
)
_GREEN_CHECK: Final = re.compile(
    r"(?:^| (?:got|get|gets|has|have|had|shows?|showed|gives?|gave|produces?|produced|saw|see|is"
    r"|was"
    r"|with|are)(?: a| an| the| all)?)"
    rf" (?:green|clean|successful|passing|successfully (?:ran|passed))(?: {_DETERMINER}){{0,3}}"
    rf" (?:{_TOOL}|{_CHECK})(?: (?:suites?|runs?|checks?|jobs?|builds?|pipelines?|results?))?"
    + _HEAD_CASE
)
_BUILDS: Final = re.compile(
    r" (?:builds|compiles|type-checks|typechecks|lints|built|compiled|linted|tested)"
    r" (?:cleanly|fine|successfully|ok|clean|green|without (?:any )?(?:errors?|warnings?"
    r"|issues?))(?= )"
)
_CARRIES: Final = re.compile(
    r"^(?: (?:it|they|everything|all|both|each|these|this|that|result|results|status|output"
    rf"|{_BE}|has|have|had|just|then|\d[\d,]*|\d+/\d+|of|them|the|with))*$"
)
_PRONOUN: Final = re.compile(r" (?:it|they|everything|all|both|result|results|output) ")

_MODAL: Final = (
    r"not|never|no longer|cannot|can't|\w{2,6}n't|hardly|barely|nor|none|neither|yet to|fails? to"
    r"|failed to|unable to|should|would|could|may|might|must|will|shall|can|ought|they'll|it'll"
    r"|expect|expects|expected|expecting|hope|hopes|hoping|hopefully|probably|likely|presumably"
    r"|supposedly|perhaps|maybe|possibly|apparently|allegedly|believe|think|assume|assumes|assumed"
    r"|assuming|suppose|supposed|guess|seem|seems|seemed|appear|appears|appeared|needs?|wants?"
    r"|require|requires|required|pending|todo|tbd|goal|aim|target|most|some|half|nearly|almost"
    r"|only|several|partly|partially|few|unverified|untested|unknown|how|why"
    r"|no (?:unit |new )?tests?(?! (?:failures?|errors?|failed|failing|issues?|problems?))"
)
_CONDITION: Final = (
    r"if|once|when|whenever|until|till|unless|whether|provided|in case|as soon as|so that|in order"
    r"|make sure|makes sure|ensure|ensures|verify|verifies|confirm|check that|see if|see that|wait"
    r"|waiting|wait for|let|lets|need|to make|to get|to see|to have|to let|to keep|to be|make|get"
    r"|require that|requires that|until the|before merging|gets?|getting|making"
)
_HEDGE: Final = re.compile(rf" (?:{_MODAL}|{_CONDITION}) ")
_CONDITIONAL: Final = re.compile(rf" (?:{_CONDITION}) ")
_ORDER: Final = re.compile(
    r"^(?: (?:\d+|please|then|next|now|first|finally|and|also|just))*"
    r" (?:run|rerun|re-run|make|get|keep|ensure|verify|confirm|wait|fix|let|have|repeat|retry|try"
    r"|check|execute|leave|bring|if|unless|suppose|assume) "
)
"""A sentence that begins like this asks for something or supposes it."""
_TO_PASS: Final = re.compile(r" (?:to|let|make|makes|help|helps)(?: \S+){0,3} $")
_SHARE: Final = re.compile(r" (\d+)(?:/| of | out of | / )(?:the )?(\d+) ")
_EXCEPT: Final = re.compile(r" (?:except|apart from|other than|aside from|all but|but not|bar) ")

_FAILURES: Final = re.compile(
    r" (?P<count>\d[\d,]*|one|two|three|four|five|several|many|most)"
    r"(?: (?:more|unit|integration|new|of|the|them|existing|type|lint|others?)){0,3}"
    r"(?: (?:tests?|specs?|checks?|cases?|suites?|jobs?))?"
    r" (?:failed|failures?|failing|errors?|errored|fails?|fail|red|broken)(?= )"
)
_FAILS: Final = re.compile(
    r" (?:now|still|also|is|are|was|were|tests?|suite|lint|build|ci|it|one|others?|rest|\S+\.\w+"
    rf"|{_TOOL}|test_\w+|{QUOTED})"
    r" (?:fails?|failed|failing|red|broken|errors|errored|crashes|crashed)(?= )"
)
_NO_FAILURE: Final = re.compile(
    r" (?:no|zero|0|none|nothing|without|not|never|neither|longer|\w{2,6}n't|previously|formerly"
    r"|earlier|fixed|fixes|fix|fixing|before|once|used|initially|originally|first|had|which|that"
    r"|where|when|if|the|because) "
)
"""In the few words before: the failure is denied, over, or the name of a thing."""
_NEAR: Final = 28
_FEW: Final = 3
"""Words after a check that still leave it the last thing spoken of."""
_REACH: Final = 200
"""Characters of an earlier clause that are remembered."""
_SHORT: Final = 24
"""Characters of a line such as "mypy --strict clean"."""

_HAN_CLAIM: Final = re.compile(
    "(?:测试|測試|用例|单测|單測|构建|構建|编译|編譯|类型检查|類型檢查|检查|檢查|流水线|流水線"
    "|lint|\\bci\\b|pytest|mypy|ruff|tsc|eslint)"
    "[^,，。；;!！?？\\n]{0,16}?"
    "(?:通过|通過|全绿|全綠|绿了|綠了|成功|没有错误|沒有錯誤|无错误|無錯誤)",
    re.IGNORECASE,
)
_HAN_HEDGE: Final = re.compile(
    "未|没有?通|沒有?通|没能|沒能|没跑|沒跑|没有运行|不|应该|應該|如果|若|假如|一旦|需|直到|等|待"
    "|确保|確保|让|讓|使|可能|希望|预计|預計|是否|能否|失败|失敗|部分|运行|運行|吗|嗎|大概|也许|也許"
)


_TRIGGER: Final = re.compile(
    r"pass|green|clean|succe|happy|\bok|fine|good|free|exit|\bno\b|zero|\b0\b|without|"
    "通过|通過|绿|綠|成功|没有错误|沒有錯誤|无错误|無錯誤",
    re.IGNORECASE,
)
"""Every claim needs one of these; most texts have none."""


def claims_pass(text: str) -> bool:
    """Tell whether `text` says, without hedge or denial, that a check passed."""
    if _TRIGGER.search(text) is None:
        return False
    found = sentences(unquoted(text, code=_named_check))
    spoken = [[word for word in words(sentence) if word != "/"] for sentence in found]
    if any(_names_failures(spaced(sentence)) for sentence in spoken):
        return False
    return any(_asserted(sentence, raw) for sentence, raw in zip(spoken, found, strict=True))


def _named_check(code: str) -> str:
    """Keep the name of a tool or test file that stands between back quotes."""
    match = _SUBJECT.match(spaced(words(code)))
    return QUOTED if match is None else match[0]


def _asserted(sentence: list[str], raw: str) -> bool:
    if not raw.isascii() and _HAN_CLAIM.search(raw):
        return _HAN_HEDGE.search(raw) is None
    if raw.rstrip().endswith("?"):
        return False
    text = spaced(sentence)
    if _EXCEPT.search(text) or _is_part(text) or _fails(text):
        return False
    ordered = _ORDER.match(text) is not None
    carried: str | None = None
    conditional = False
    for mark, clause in _clauses(sentence):
        if mark in (":", "but", "(", "so") and not clause.startswith(" that "):
            ordered = conditional = False
        conditional = (conditional and mark != ",") or _CONDITIONAL.search(clause) is not None
        if not ordered and not conditional and _claims(clause, carried):
            return True
        if _SUBJECT.search(clause):
            carried = clause[-_REACH:]
    return False


def _clauses(sentence: list[str]) -> list[tuple[str, str]]:
    """Return the clauses of a sentence, each with the mark or word that divides it off."""
    found: list[tuple[str, str]] = []
    mark, piece = "", list[str]()
    for word in sentence:
        if word in _DIVIDES:
            if piece:
                found.append((mark, spaced(piece)))
                piece = []
            mark = word
        else:
            piece.append(word)
    return [*found, (mark, spaced(piece))] if piece else found


def _claims(clause: str, carried: str | None) -> bool:
    """Tell whether one clause asserts success; `carried` is the last clause with a check in it."""
    hedge = _HEDGE.search(clause)
    unhedged = len(clause) if hedge is None else hedge.end() - 1
    ends = [
        match.end()
        for pattern in (_PASSED_CHECK, _GREEN_CHECK, _BUILDS, _COUNTED)
        if (match := pattern.search(clause)) is not None
    ]
    if any(end < unhedged or hedge is None for end in ends):
        return True
    spoken = [found for found in _predicates(clause) if found.end() < unhedged or hedge is None]
    if not spoken:
        return False
    subject = _SUBJECT.search(clause)
    if subject is not None and any(_follows(subject, found) for found in spoken):
        return True
    if any(found.re is _NO_ERRORS and found["sort"] is not None for found in spoken):
        return True
    return carried is not None and _speaks_of(carried, clause[: _said_at(spoken[0])])


def _predicates(clause: str) -> list[re.Match[str]]:
    found = [
        match
        for match in _PASSES.finditer(clause)
        if not _TO_PASS.search(clause[max(0, match.start() - 60) : match.start() + 1])
    ]
    found += [match for match in _IS_GREEN.finditer(clause) if _is_said_of(match)]
    found += [match for match in (_STARTS_GREEN.match(clause),) if match is not None]
    return [*found, *_NO_ERRORS.finditer(clause), *_EXIT_ZERO.finditer(clause)]


def _is_said_of(match: re.Match[str]) -> bool:
    """Tell whether "green" stands where it is said of something: "is green", "ruff clean"."""
    if _BE_WORD.fullmatch(match["before"]) or _SUBJECT.match(f" {match['before']} "):
        return True
    return match.start() < _SHORT and _SUBJECT.match(match.string) is not None


def _said_at(predicate: re.Match[str]) -> int:
    return predicate.start("word" if "word" in predicate.re.groupindex else 0)


def _follows(subject: re.Match[str], predicate: re.Match[str]) -> bool:
    """Tell whether a word of success speaks of a check in its clause: no errors, before it too."""
    return predicate.re is _NO_ERRORS or subject.end() <= _said_at(predicate)


def _speaks_of(carried: str, left: str) -> bool:
    """Tell whether success with only `left` before it speaks of a check in an earlier clause."""
    if _CARRIES.match(left.rstrip()):
        return _PRONOUN.search(left) is not None or _ends_with_check(carried)
    return all(any(mark in word for mark in "./_") for word in left.split())


def _ends_with_check(clause: str) -> bool:
    return any(len(clause[match.end() :].split()) <= _FEW for match in _SUBJECT.finditer(clause))


def _is_part(text: str) -> bool:
    match = _SHARE.search(text)
    return match is not None and int(match[1][:9]) < int(match[2][:9])


def _names_failures(text: str) -> bool:
    return any(
        match["count"].strip("0,") and not _denied(text, match.start())
        for match in _FAILURES.finditer(text)
    )


def _fails(text: str) -> bool:
    return any(not _denied(text, match.start()) for match in _FAILS.finditer(text))


def _denied(text: str, at: int) -> bool:
    return _NO_FAILURE.search(text[max(0, at - _NEAR) : at + 1]) is not None
