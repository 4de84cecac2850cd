"""Measure how often the text rules call sentences of documentation vague.

Reads Markdown, reStructuredText and plain text, and docstrings of Python files, below the given
directories (default: the packages and the standard library of this interpreter), takes each
sentence once, and prints the counts with the sentences that were flagged. Exits 1 when more than
one sentence in 4,000 is called vague.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from handoffs.text_rules import Vague, claims_pass, vague
from handoffs.text_rules.words import sentences

LIMIT: Final = 4_000
TEXT: Final = {".md", ".rst", ".txt"}
MAX_FILE: Final = 2_000_000
_CODE: Final = re.compile(r"```.*?```|~~~.*?~~~", re.DOTALL)
_MARKUP: Final = re.compile(
    r"<[^<>\n]{1,200}>|\]\([^()\n]{1,300}\)|[*_]{1,2}(?=\S)|(?<=\S)[*_]{1,2}"
)
_PROSE: Final = re.compile(r"[A-Z\"'(].*[.!?][)\"']?")
MIN_WORDS: Final = 3


def paragraphs(text: str) -> Iterator[str]:
    """Yield prose paragraphs, unwrapped; code blocks, tables and headings are not prose."""
    for block in re.split(r"\n\s*\n", _CODE.sub("\n\n", text)):
        lines = [line.strip() for line in block.splitlines() if line.strip()]
        if not lines or block.startswith(("    ", "\t", "|", ">>>", "$ ", ".. code")):
            continue
        joined = " ".join(re.sub(r"^(?:[-*+]|\d+[.)])\s+", "", line) for line in lines)
        yield _MARKUP.sub("", joined.replace("``", "`"))


def prose_of(path: Path) -> Iterator[str]:
    """Yield the paragraphs of a documentation file or of a module's docstrings."""
    if path.stat().st_size > MAX_FILE:
        return
    text = path.read_text("utf-8", "replace")
    if path.suffix in TEXT:
        yield from paragraphs(text)
        return
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(module):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from paragraphs(ast.get_docstring(node) or "")


def corpus(roots: list[Path], limit: int) -> list[str]:
    """Return up to `limit` different sentences of prose, in the order in which they are found."""
    found: dict[str, None] = {}
    for root in roots:
        for path in sorted(root.rglob("*")):
            if path.suffix not in {*TEXT, ".py"} or not path.is_file():
                continue
            for paragraph in prose_of(path):
                for sentence in sentences(paragraph):
                    if _PROSE.fullmatch(sentence) and len(sentence.split()) >= MIN_WORDS:
                        found[sentence] = None
            if len(found) >= limit:
                return list(found)[:limit]
    return list(found)


def main() -> int:
    """Print the figures; 1 when the rules are too broad."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("roots", nargs="*", type=Path)
    parser.add_argument("--limit", type=int, default=200_000)
    parser.add_argument("--claims", action="store_true", help="also list what is taken as a claim")
    arguments = parser.parse_args()
    default = [Path(sysconfig.get_path(name)) for name in ("purelib", "stdlib")]
    found = corpus(arguments.roots or default, arguments.limit)
    started = time.perf_counter()
    flagged = [(reason, text) for text in found if (reason := vague(text)) is not None]
    spent = time.perf_counter() - started
    claims = [text for text in found if claims_pass(text)]
    for reason, text in flagged:
        print(f"{reason.value}: {text[:200]}")
    for text in claims if arguments.claims else []:
        print(f"claim: {text[:200]}")
    counts = {reason: sum(1 for found, _ in flagged if found is reason) for reason in Vague}
    print(f"{len(found):,} sentences, {1e6 * spent / max(len(found), 1):.0f} µs each")
    print(", ".join(f"{reason.value}: {number}" for reason, number in counts.items()))
    print(f"claims of a passed check: {len(claims)}")
    if flagged:
        print(f"vague: one in {len(found) / len(flagged):,.0f} (at most one in {LIMIT:,})")
    return 1 if len(flagged) * LIMIT > len(found) else 0


if __name__ == "__main__":
    sys.exit(main())
