"""Does a text name something that can be found: a path, command, identifier, number, code?"""

from __future__ import annotations

import re
from typing import Final

from handoffs.vocabulary import listed

_NUMBER: Final = re.compile(r"[0-9]")
_BACK_QUOTED: Final = re.compile(r"`[^`]*[^`\s][^`]*`")
_EDGE: Final = "\"'()[]{}<>,;:!?*\u201c\u201d\u2018\u2019\u300c\u300d\u3001\u3002\uff0c\uff1b"
_FILE_NAME: Final = re.compile(
    r"[\w@+~-]*[A-Za-z_][\w@+~-]{0,80}\.(?:[a-z][a-z0-9]{0,4}|lock|ipynb|proto|gradle|config)"
)
_KNOWN_FILES: Final = frozenset(
    {"Makefile", "Dockerfile", "Justfile", "README", "CHANGELOG", "LICENSE", "CONTRIBUTING"}
)
_NO_FILE: Final = frozenset({"e.g", "i.e", "a.m", "p.m", "u.s", "vs.the", "etc.and"})
_NO_PATH: Final = listed(
    "and/or either/or n/a w/o yes/no on/off true/false he/she his/her read/write input/output i/o"
    " pass/fail start/stop open/close"
)
_IDENTIFIERS: Final = (
    re.compile(r"_*[A-Za-z][A-Za-z0-9]*_\w*|_+[A-Za-z]\w*"),  # snake_case, CONSTANT_CASE, _private
    re.compile(r"[a-z]+[A-Z]\w*"),  # camelCase
    re.compile(r"[A-Z][a-z0-9]+[A-Z][A-Za-z0-9]*"),  # PascalCase
    re.compile(r"[A-Za-z_]\w*(?:::|->|#)\w\S*"),  # member::name
    re.compile(r"--?[A-Za-z][\w-]*(?:=\S*)?"),  # --flag
    re.compile(r"\$[A-Za-z_{]\S*"),  # $VARIABLE
    re.compile(r"@[a-z][\w.-]+/?\S*"),  # @decorator, @scope/package
)
_CALL: Final = re.compile(r"[A-Za-z_][\w.:]*\((?!s\))")
_PROPER: Final = listed(
    "GitHub GitLab JavaScript TypeScript PostgreSQL macOS iOS OpenAI DevOps YouTube"
)
_TOOLS: Final = listed(
    "pytest mypy ruff tox nox pylint flake8 pyright unittest pip uv npm npx pnpm jest vitest"
    " mocha"
    " eslint tsc cargo rustc golangci-lint gofmt mvn gradlew ctest cmake rspec rubocop kubectl"
    " docker terraform pre-commit grep sed awk curl psql sqlite3 systemctl clang gcc"
)
_TWO_WORDS: Final = re.compile(
    r"\b(?:git (?:add|bisect|blame|branch|checkout|cherry-pick|commit|diff|fetch|log|merge|pull"
    r"|push|rebase|reset|restore|revert|show|stash|status|switch|tag)|make (?:all|build|check"
    r"|clean|docs|install|lint|test|tests)(?=[.,;:)]|\s*$|\s+(?:and|then|in|on)\b)|go (?:build"
    r"|test|vet|mod|run|generate)|bundle exec|yarn (?:test|build|lint))\b"
)


def has_anchor(text: str) -> bool:
    """Tell whether `text` holds anything definite. Quoted words count for what they name."""
    return (
        _NUMBER.search(text) is not None
        or _BACK_QUOTED.search(text) is not None
        or _TWO_WORDS.search(text) is not None
        or any(_is_definite(word) for word in text.split())
    )


def _is_definite(raw: str) -> bool:
    word = raw.strip(_EDGE).rstrip(".")
    if not word or word in _PROPER:
        return False
    if word in _KNOWN_FILES or word.lower() in _TOOLS or _CALL.match(raw.lstrip(_EDGE)):
        return True
    return _is_path(word) or any(pattern.fullmatch(word) for pattern in _identifier_forms(word))


def _is_path(word: str) -> bool:
    lowered = word.lower()
    if "/" in word:
        return lowered not in _NO_PATH and any(character.isalnum() for character in word)
    if word[0] == "." and len(word) > 2 and word[1:].replace("-", "").isalnum():
        return True
    return lowered not in _NO_FILE and _FILE_NAME.fullmatch(word) is not None


def _identifier_forms(word: str) -> tuple[re.Pattern[str], ...]:
    return _IDENTIFIERS if len(word) <= 200 else ()
