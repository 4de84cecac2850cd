"""The words of the claim rule: checks, success, hedges, conditions, failures.

Patterns are for sentences as `words.spaced` gives them: lower case, one space around each word.
"""

from __future__ import annotations

import re
from typing import Final

from handoffs.text_rules.words import QUOTED
from handoffs.vocabulary import listed

TOOL: Final = (
    r"(?:pytest|mypy|pyright|ruff|flake8|pylint|tox|nox|unittest|doctests?|clippy|rustfmt|eslint"
    r"|tslint|prettier|biome|tsc|jest|vitest|mocha|karma|cypress|playwright|rspec|rubocop|ctest"
    r"|junit|phpunit|golangci-lint|pre-commit|shellcheck|gradle|gradlew|maven|mvn|make-\w[\w-]*"
    r"|(?:cargo|go|npm|yarn|pnpm|make|bun|mix|dotnet|swift|rails|node|bazel)(?: run)? (?:test"
    r"|tests|check|lint|build|vet|typecheck|ci))"
)
CHECK: Final = (
    r"(?:tests?|testsuites?|suites?|specs?|test-suites?|test-cases?|testcases?|assertions?|lints?"
    r"|linters?|linting|builds?|compile|compilation|type[ -]?checks?|type[ -]?check(?:er|ing)"
    r"|typing|ci|ci/cd|pipelines?|checks?|formatting|static analysis|test_\w+(?:\.\w+)?"
    r"|[\w/-]+_test\.\w+|[\w/-]+_spec\.\w+|[\w/-]+\.(?:test|spec)\.\w+)"
)
SUBJECT: Final = re.compile(rf" (?:{TOOL}|{CHECK})(?= )")
HEAD_CASE: Final = (
    r"(?= ?$| (?:on|in|with|and|now|again|after|locally|for|at|under|since|without|but|as|too"
    r"|from|of|by|before|today|everywhere)\b)"
)
"""What may follow a noun that is no part of a longer one."""
DIVIDES: Final = listed(", : ( ) [ ] and but so while though although because which whereas + =")

AFTER: Final = (
    r"(?= ?$| (?:now|again|on|in|at|with|after|locally|for|under|when|since|cleanly|successfully"
    r"|fully|everywhere|too|as (?:well|expected|of|before|usual|always|intended|planned)|well"
    r"|here|there|without|across|before|today|yesterday|just|fine|ok|once|twice|(?:two|three|four"
    r"|five|several|many|multiple) times|repeatedly|every|again|consistently|including|this time"
    r"|then|or|either|also|\?|%|\d\S*)\b| [%?])"
)
PASSES: Final = re.compile(rf" (?P<word>pass|passes|passed|passing|succeeds?|succeeded){AFTER}")
BE: Final = (
    r"(?:is|are|was|were|be|been|stays?|stayed|remains?|remained|went|go|goes|turned|come|comes"
    r"|came|back|returns?|returned|reports?|reported|looks?|ran|runs|run|finished|completed|ended"
    r"|all|now|again|still|both|also|already|completely|fully|entirely|100|%|fully)"
)
GREEN: Final = (
    r"(?:green|clean|successful|ok|okay|happy|fine|error-free|warning-free|all-green|good|cleanly"
    r"|successfully)"
)
IS_GREEN: Final = re.compile(rf" (?P<before>\S+) (?P<word>{GREEN}){AFTER}")
STARTS_GREEN: Final = re.compile(rf"^ {GREEN}{AFTER}")
BE_WORD: Final = re.compile(BE)
NOT_FAILING: Final = re.compile(
    r" (?:no longer|don't|doesn't|didn't|do not|does not|did not|isn't|aren't|not|never|none of"
    rf" (?:the|our|its|my)(?: \S+){{0,2}}? {CHECK}|no(?: \S+){{0,2}}? {CHECK}|nothing|none)"
    r" (?:(?:is|are|has|have|of them|now|currently) )?(?P<word>fail|fails|failed|failing|red"
    r"|broken|errors out)(?: any ?more| now)?(?= ?$| (?:in|on|for|at|with|after|here|and|or)\b)"
)
"""What is denied is the failure."""
NO_ERRORS: Final = re.compile(
    r" (?:no|zero|0|without|without any) (?:(?:more|new|remaining|further|failing) )?"
    r"(?:(?P<sort>type|lint|linter|test|build|compile|compiler|compilation|typing|mypy|ruff) )?"
    r"(?:errors?|failures?|failed|failing|issues?|problems?|warnings?|complaints?|findings?)(?= )"
)
EXIT_ZERO: Final = re.compile(
    r" (?:exit(?:s|ed)?|returns?|returned|ends?|ended|finish(?:es|ed)) (?:with )?(?:an? )?"
    r"(?:(?:exit )?(?:code|status) )?(?:of |= )?(?:0|zero|cleanly)(?= ?$| (?:and|on|in|for|after"
    r"|now|again|with)\b)| (?:exit code|exit status|status code|rc|exit)(?: is| was| of| =)? (?:0"
    r"|zero)(?= )"
)
COUNTED: Final = re.compile(
    r"^(?: (?:now|and|with|result|results|summary|still|also|then))* (?P<count>\d[\d,_]*|\d+/\d+"
    r"|all|everything|they|both)(?: (?:of|the|them|all|\d[\d,]*|has|have|are|is|were|was|now|just"
    r"|still))*"
    rf" (?:pass|passes|passed|passing|green|succeeded){AFTER}"
)
ZERO_LINE: Final = re.compile(
    r"^ (?:found )?(?:0|no) errors?(?: (?:,|and|\(|\)|\d+|no|warnings?|found|issues?|in"
    r"|files?))* $"
)
"""A line that is the summary of a linter or compiler."""
ROUND: Final = re.compile(
    r" (?:a|an|the|this|next|later|first|second|third|separate|single|final|extra|one|each"
    r"|another|every|same|last|additional|quick|per|in)(?: [\w-]*(?:check|checking|checker"
    r"|linting|typing|analysis|optimi[sz]ation|compiler|compilation|build))? pass | (?:the|these"
    r"|several|multiple|many|two) passes | (?:by|of|for|when|without|after|before|about) passing "
    r"| (?:they|it|which|that|arguments?|values?|parameters?) (?:is|are|was"
    r"|were) (?:being )?passed "
)
"""A pass over something, or something that is passed on."""
NONE_PASSED: Final = re.compile(
    r" (?:0|zero)(?: (?!fail|error|\d|,)\S+){0,2} (?:pass|passes|passed|passing) "
)
DETERMINER: Final = (
    r"(?:all|the|every|our|its|their|full|whole|entire|complete|existing|of|new|\d[\d,]*|on|unit"
    r"|integration|regression|in|relevant|both|a|an|local|strict)"
)
PASSED_CHECK: Final = re.compile(
    r" (?:passes|passed|(?:is|are|was|were|now|still|again|currently|all) passing)"
    rf"(?: {DETERMINER}){{0,4}} (?:{TOOL}|{CHECK}|type checks?)"
    r"(?: (?:suites?|runs?|checks?|checking|tests?|jobs?|builds?|pipelines?|results?|rules?))?"
    + HEAD_CASE
)
GREEN_CHECK: Final = re.compile(
    r"(?:^| (?:got|get|gets|has|have|had|shows?|showed|gives?|gave|produces?|produced|saw|see|is"
    r"|was|with|are)(?: a| an| the| all)?)"
    rf" (?:green|clean|successful|passing|successfully (?:ran"
    rf"|passed))(?: {DETERMINER}){{0,3}} (?:{TOOL}|{CHECK})(?: (?:suites?|runs?|checks?|jobs?"
    rf"|builds?|pipelines?|results?))?" + HEAD_CASE
)
BUILDS: Final = re.compile(
    r" (?:builds|compiles|type-checks|typechecks|lints|built|compiled|linted|tested) (?:cleanly"
    r"|fine|successfully|ok|clean|green|without (?:any )?(?:errors?|warnings?|issues?))(?= )"
)
TAKES_UP: Final = re.compile(
    r"^ (?:it|they|everything|all|both|each|these|this|that)(?: (?:all|both|now|then|just|has"
    r"|have|of them))* (?:pass|passes|passed|succeeded|green|(?:is|are|was|were|came back"
    r"|went) green) "
)
"""A sentence that says it of the check in the sentence before."""
COMMAND: Final = 300
"""Characters of a command between back quotes that are looked at."""
CARRIES: Final = re.compile(
    r"^(?: (?:it|they|everything|all|both|each|these|this|that|result|results|status|output"
    rf"|{BE}|has|have|had|just|then|\d[\d,]*|\d+/\d+|of|them|the|with))*$"
)
PRONOUN: Final = re.compile(r" (?:it|they|everything|all|both|result|results|output) ")

MODAL: Final = (
    r"not|never|no longer|cannot|can't|\w{2,6}n't|hardly|barely|nor|none|neither|yet to|fails? to"
    r"|failed to|unable to|should|would|could|may|might|must|will|shall|can|ought|they'll|it'll"
    r"|expect|expects|expected|expecting|hope|hopes|hoping|hopefully|probably|likely|presumably"
    r"|supposedly|perhaps|maybe|possibly|apparently|allegedly|believe|think|assume|assumes"
    r"|assumed|assuming|suppose|supposed|guess|seem|seems|seemed|appear|appears|appeared|needs?"
    r"|wants?|require|requires|required|pending|todo|tbd|goal|aims?|aimed|target|most|some|half"
    r"|nearly|almost|only|several|partly|partially|few|unverified|untested|unknown|how|why"
    r"|no (?:unit |new )?tests?(?! (?:failures?|errors?|failed|failing|issues?|problems?))"
    r"|no (?:evidence|proof|sign|guarantee|idea|claim|record|indication)|to (?:say|claim|tell"
    r"|know|prove|conclude|assert|believe)|unsure|uncertain|unclear|doubt|doubtful|doubts|wonder"
    r"|afaik|iirc|theoretically|in theory|in principle|ideally|eventually|claims?|claimed"
    r"|going to|about to|meant to|intended to|plan to|planned|want to|try|tried|trying|tries"
    r"|claiming|rarely|seldom|stop|stops|stopped|ceased|no more"
)
CONDITION: Final = (
    r"if|once|when|whenever|until|till|unless|whether|provided|in case|as soon as|so that"
    r"|in order|make sure|makes sure|ensure|ensures|verify|verifies|confirm|check that|see if"
    r"|see that|wait|as long as|so long as|keep(?! passing)|keeping|waiting|wait for|let|lets"
    r"|need|to make|to get|to see|to have|to let|to keep|to be|make|get|require that"
    r"|requires that|until the|before merging|gets?|getting|making"
)
NOT_ONLY: Final = re.compile(r" not (?:only|just|merely) (?:(?:do|does|did) )?")
TIME_OF: Final = re.compile(
    rf" (?:after|before) (?:{DETERMINER} ){{0,3}}(?:{TOOL}|{CHECK})(?: \w+)?"
    r" (?:pass|passes|succeeds?|(?:is|are|goes|go|turns?) green) "
)
"""A time to come: "after the tests pass"."""
RELATIVE: Final = re.compile(
    r"(?:^| to| and| it| which| then| that| ,) (?:tests?|checks?|checking|testing)"
    r" (?:that|whether|if) "
    rf"| (?:{TOOL}|{CHECK}) that (?:always |now |only |also |still )?(?:pass|passes|succeeds?) "
)
"""What is checked or which check is meant, and nothing about whether it passed."""
HEDGE: Final = re.compile(rf" (?:{MODAL}|{CONDITION}) ")
CONDITIONAL: Final = re.compile(rf" (?:{CONDITION}) ")
ORDER: Final = re.compile(
    r"^(?: (?:\d+|please|then|next|now|first|finally|and|also|just))* (?:run|rerun|re-run|make"
    r"|get|keep|ensure|verify|confirm|wait|let|have|repeat|retry|try|check|execute|leave|bring|if"
    r"|unless|suppose|assume) "
)
"""A sentence that begins like this asks for something or supposes it."""
WISH: Final = re.compile(
    r"^(?: (?:\d+|please|then|next|now|first|finally|and|also|just|to|we|i|should))* (?:fix|write"
    r"|add|create|implement|use|update|change|adjust|prepare|merge|push|deploy|release|ship|tag"
    r"|commit|remove|delete|find|look|see|go on|go ahead|do|start|finish|continue|provide|extend"
    r"|rewrite|replace|mock|stub|skip|pin|split|move|rename|review|document|ask|tell) "
)
"""A clause that begins like this asks for something; what follows it may tell."""
TO_PASS: Final = re.compile(r" (?:to|let|make|makes|help|helps)(?: \S+){0,3} $")
SHARE: Final = re.compile(r" (\d+)(?:/| of | out of | / )(?:the )?(\d+) ")
EXCEPT: Final = re.compile(
    r" (?:except|apart from|other than|aside from|all but|but not|bar|(?:some|most|few|none|half"
    r"|many) of (?:which|them|these)) "
)

FAILURES: Final = re.compile(
    r" (?P<count>\d[\d,]*|one|two|three|four|five|several|many|most)"
    r"(?: (?:more|unit|integration|new|of|the|them|existing|type|lint|others?)){0,3}"
    r"(?: (?:tests?|specs?|checks?|cases?|suites?|jobs?))? (?:failed|failures?|failing|errors?"
    r"|errored|fails?|fail|red|broken)(?= )"
)
FAILS: Final = re.compile(
    r" (?:now|but|and|or|still|also|is|are|was|were|tests?|suite|lint|build|ci|it|one|others?"
    r"|rest|\S+\.\w+"
    rf"|{TOOL}|test_\w+|{QUOTED})"
    r" (?:fails?|failed|failing|red|broken|errors|errored|crashes|crashed)(?= )"
)
ZERO: Final = re.compile(
    r" (?:no|zero|0|none|nothing|without|not|never|neither|longer|\w{2,6}n't) [^,:()]*$"
)
OVER: Final = re.compile(
    r" (?:previously|formerly|earlier|fixed|fixes|fix|fixing|before|once|used|initially"
    r"|originally|first|had|which|that|where|when|if|because) "
)
"""In the few words before: the failure is over, or the name of a thing."""
NEAR: Final = 28
FEW: Final = 3
"""Words after a check that still leave it the last thing spoken of."""
REACH: Final = 200
"""Characters of an earlier clause that are remembered."""
SHORT: Final = 24
"""Characters of a line such as "mypy --strict clean"."""

HAN_CLAIM: Final = re.compile(
    "(?:测试|測試|用例|单测|單測|构建|構建|编译|編譯|类型检查|類型檢查|检查|檢查|流水线|流水線"
    "|lint|\\bci\\b|pytest|mypy|ruff|tsc|eslint)"
    "[^,，。；;!！?？\\n]{0,16}?"
    "(?:通过|通過|全绿|全綠|绿了|綠了|绿的|綠的|绿色|綠色|都过了?|都過了?|全过|全過|过了|過了|成功"
    "|没有(?:错误|报错|失败)|沒有(?:錯誤|報錯|失敗)|无(?:错误|报错|失败)|無(?:錯誤|報錯|失敗))",
    re.IGNORECASE,
)
HAN_DENIED: Final = re.compile("[没沒無无]有?(?:任何)?(?:错误|錯誤|报错|報錯|失败|失敗)")
HAN_HEDGE: Final = re.compile(
    "^请?(?:再|先|重新)?(?:运行|運行|执行|執行|跑)|未|没|沒|不|应该|應該|如果|若|假如|一旦|需|直到|等|待"
    "|确保|確保|让|讓|使|可能|希望|预计|預計|是否|能否|失败|失敗|部分|吗|嗎|大概|也许|也許"
)


TRIGGER: Final = re.compile(
    r"pass|green|clean|succe|happy|\bok|fine|good|free|exit|\bno\b|zero|\b0\b|without|fail|red\b"
    "|broken|过|過|通过|通過|绿|綠|成功|没有错误|沒有錯誤|无错误|無錯誤",
    re.IGNORECASE,
)
"""Every claim needs one of these; most texts have none."""
