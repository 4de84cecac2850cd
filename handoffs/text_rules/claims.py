"""Does a text say that a check passed?

A claim is a check (tests, suite, lint, build, type check, CI, or the name of such a tool) and a
word of success about it in one clause, neither denied, nor hoped for, nor asked for, nor made a
condition. A text that itself names failures claims nothing that could be held against a pass.
"""

from __future__ import annotations

import re
from typing import Final

from handoffs.summaries import summaries
from handoffs.text_rules.claim_words import (
    BE_WORD,
    BUILDS,
    CARRIES,
    COMMAND,
    CONDITIONAL,
    COUNTED,
    DIVIDES,
    EXCEPT,
    EXIT_ZERO,
    FAILS,
    FAILURES,
    FEW,
    GREEN_CHECK,
    HAN_CLAIM,
    HAN_DENIED,
    HAN_HEDGE,
    HEDGE,
    IS_GREEN,
    NEAR,
    NO_ERRORS,
    NONE_PASSED,
    NOT_FAILING,
    NOT_ONLY,
    ORDER,
    OVER,
    PASSED_CHECK,
    PASSES,
    PRONOUN,
    REACH,
    RELATIVE,
    ROUND,
    SHARE,
    SHORT,
    STARTS_GREEN,
    SUBJECT,
    TAKES_UP,
    TIME_OF,
    TO_PASS,
    TRIGGER,
    WISH,
    ZERO,
    ZERO_LINE,
)
from handoffs.text_rules.words import QUOTED, sentences, spaced, unquoted, words
from handoffs.vocabulary import listed


def claims_pass(text: str) -> bool:
    """Tell whether `text` says, without hedge or denial, that a check passed."""
    if TRIGGER.search(text) is None:
        return False
    plain = unquoted(text, code=_named_check)
    printed = summaries(plain)
    if any(summary.failed for summary in printed):
        return False
    found = sentences(plain)
    spoken = [_tokens(sentence) for sentence in found]
    if any(_names_failures(spaced(sentence)) for sentence in spoken):
        return False
    before: list[str] = []
    for sentence, raw in zip(spoken, found, strict=True):
        if _asserted(sentence, raw, before):
            return True
        before = sentence
    return bool(printed)


_MADE: Final = listed("make gmake just task")
_TARGET: Final = re.compile(r"(?:test|check|lint|build|ci|verify|all|typecheck|ok)(?:-\w+)*")
_SAYS: Final = listed(
    "passes passed passing succeeds succeeded is was now still also both all ran runs returned"
    " returns exits exited finished completed reports reported gives gave shows has again : ( and"
    " with in on , ok"
)


def _tokens(sentence: str) -> list[str]:
    """Return the words of a sentence; `make test` as a command is one, as an order two."""
    said = NOT_ONLY.sub(" ", spaced(words(sentence)))
    found = [word for word in said.split() if word != "/"]
    for index in range(len(found) - 2):
        made, target, after = found[index : index + 3]
        if made in _MADE and _TARGET.fullmatch(target) and after in _SAYS:
            found[index : index + 2] = [f"make-{target}", "-"]
    return [word for word in found if word != "-"]


def _named_check(code: str) -> str:
    """Keep the name of a tool or test file that stands between back quotes."""
    from handoffs.check_outcome import check_tool

    match = SUBJECT.match(spaced(words(code)))
    if match is not None:
        return match[0].replace(" make ", " make-")
    return " pytest " if check_tool(code[:COMMAND]) is not None else QUOTED


def _asserted(sentence: list[str], raw: str, before: list[str]) -> bool:
    """Tell whether a sentence asserts success, of a check in it or in the sentence before."""
    if not raw.isascii() and HAN_CLAIM.search(raw):
        return HAN_HEDGE.search(HAN_DENIED.sub("", raw)) is None
    if raw.rstrip().endswith("?"):
        return False
    text = spaced(sentence)
    if ZERO_LINE.match(text):
        return True
    if any(pattern.search(text) for pattern in (EXCEPT, NONE_PASSED, ROUND)):
        return False
    if _is_part(text) or _fails(text):
        return False
    ordered, wished = ORDER.match(text) is not None, WISH.match(text) is not None
    carried = spaced(before)[-REACH:] if TAKES_UP.match(text) else None
    conditional = False
    for mark, clause in _clauses(sentence):
        if mark == "so" and clause.startswith(" that "):
            conditional = True
        elif mark in (":", "but", "("):
            ordered = conditional = False
        elif mark == "so":
            conditional = False
        wished = wished and mark in ("", "so", "and")
        conditional = (conditional and mark != ",") or any(
            pattern.search(clause) for pattern in (CONDITIONAL, TIME_OF, RELATIVE)
        )
        if not (ordered or wished or conditional) and _claims(clause, carried, mark):
            return True
        if SUBJECT.search(clause):
            carried = clause[-REACH:]
    return False


def _clauses(sentence: list[str]) -> list[tuple[str, str]]:
    """Return the clauses of a sentence, each with the mark or word that divides it off."""
    found: list[tuple[str, str]] = []
    mark, piece = "", list[str]()
    for word in sentence:
        if word in DIVIDES:
            if piece:
                found.append((mark, spaced(piece)))
                piece = []
            mark = word
        else:
            piece.append(word)
    return [*found, (mark, spaced(piece))] if piece else found


def _claims(clause: str, carried: str | None, mark: str) -> bool:
    """Tell whether one clause asserts success.

    `carried` is the last clause with a check in it, `mark` what divides this one off.
    """
    hedge = HEDGE.search(clause)
    for found in NOT_FAILING.finditer(clause):
        first = hedge is None or hedge.start() >= found.start()
        if first and (
            SUBJECT.search(clause) or (carried and CARRIES.match(clause, 0, found.start()))
        ):
            return True
    unhedged = len(clause) if hedge is None else hedge.end() - 1
    ends = [
        match.end()
        for pattern in (PASSED_CHECK, GREEN_CHECK, BUILDS, COUNTED)
        if (match := pattern.search(clause)) is not None
    ]
    if any(end < unhedged or hedge is None for end in ends):
        return True
    spoken = [found for found in _predicates(clause) if found.end() < unhedged or hedge is None]
    if not spoken:
        return False
    subject = SUBJECT.search(clause)
    if subject is not None and any(_follows(subject, found) for found in spoken):
        return True
    if any(found.re is NO_ERRORS and found["sort"] is not None for found in spoken):
        return True
    left = clause[: _said_at(spoken[0])]
    return carried is not None and _speaks_of(carried, left, result=mark == ":")


def _predicates(clause: str) -> list[re.Match[str]]:
    found = [
        match
        for match in PASSES.finditer(clause)
        if match["word"] not in ("pass", "succeed")
        or not TO_PASS.search(clause[max(0, match.start() - 60) : match.start() + 1])
    ]
    found += [match for match in IS_GREEN.finditer(clause) if _is_said_of(match)]
    found += [match for match in (STARTS_GREEN.match(clause),) if match is not None]
    return [*found, *NO_ERRORS.finditer(clause), *EXIT_ZERO.finditer(clause)]


def _is_said_of(match: re.Match[str]) -> bool:
    """Tell whether "green" stands where it is said of something: "is green", "ruff clean"."""
    if BE_WORD.fullmatch(match["before"]) or SUBJECT.match(f" {match['before']} "):
        return True
    return match.start() < SHORT and SUBJECT.match(match.string) is not None


def _said_at(predicate: re.Match[str]) -> int:
    return predicate.start("word" if "word" in predicate.re.groupindex else 0)


def _follows(subject: re.Match[str], predicate: re.Match[str]) -> bool:
    """Tell whether a word of success speaks of a check in its clause: no errors, before it too."""
    return predicate.re is NO_ERRORS or subject.end() <= _said_at(predicate)


def _speaks_of(carried: str, left: str, *, result: bool) -> bool:
    """Tell whether success with only `left` before it speaks of a check in an earlier clause.

    `result`: it stands behind a colon, as the result of whatever check is named before it.
    """
    if CARRIES.match(left.rstrip()):
        return result or PRONOUN.search(left) is not None or _ends_with_check(carried)
    return all(word == QUOTED or any(mark in word for mark in "./_") for word in left.split())


def _ends_with_check(clause: str) -> bool:
    return any(len(clause[match.end() :].split()) <= FEW for match in SUBJECT.finditer(clause))


def _is_part(text: str) -> bool:
    match = SHARE.search(text)
    return match is not None and int(match[1][:9]) < int(match[2][:9])


def _names_failures(text: str) -> bool:
    return any(
        match["count"].strip("0,")
        and not text.endswith((" the ", " those ", " these "), 0, match.start() + 1)
        and not _denied(text, match.start())
        for match in FAILURES.finditer(text)
    )


def _fails(text: str) -> bool:
    return any(not _denied(text, match.start()) for match in FAILS.finditer(text))


def _denied(text: str, at: int) -> bool:
    before = text[max(0, at - NEAR) : at + 1]
    return ZERO.search(before) is not None or OVER.search(before) is not None
