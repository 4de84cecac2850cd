"""Which commands are checks, and which tool's summary says what came of them.

A command is a check when it runs tests, a linter, a type checker, a format check or a build.
Listing tests, rewriting files and asking for a version are not.
"""

from __future__ import annotations

import re
from typing import Final

from handoffs.shell_words import SHELLS, program
from handoffs.vocabulary import listed

GENERIC: Final = "generic"
"""A check whose summary, if any, comes from a tool that it calls: `make lint`, `npm run build`."""
TESTS: Final = "tests"
"""The same for tests: only a summary that counts them says that they passed."""

_OWN: Final = {
    "pytest": "pytest",
    "py.test": "pytest",
    "mypy": "mypy",
    "dmypy": "mypy",
    "ruff": "ruff",
    "jest": "jest",
    "vitest": "jest",
    "mocha": "mocha",
    "ctest": "ctest",
    "rspec": "rspec",
    "jasmine": "rspec",
    "eslint": "eslint",
    "stylelint": "eslint",
    "tsc": "tsc",
    "vue-tsc": "tsc",
    "mvn": "java",
    "mvnw": "java",
    "gradle": "java",
    "gradlew": "java",
    "gotestsum": "gotestsum",
    "pyright": "pyright",
    "basedpyright": "pyright",
    "pylint": "pylint",
    "black": "black",
    "prettier": "prettier",
    "biome": "biome",
    "playwright": "playwright",
    "cypress": "cypress",
    "phpunit": "phpunit",
    "rubocop": "rubocop",
    "tox": "tox",
    "nox": "nox",
    "pre-commit": "pre-commit",
    "golangci-lint": "golangci-lint",
    "prove": "prove",
    "ava": "ava",
    "karma": "karma",
    "busted": "busted",
    "svelte-check": "svelte-check",
    **dict.fromkeys(
        listed(
            "flake8 isort bandit clippy shellcheck shfmt hadolint actionlint yamllint tap ginkgo"
            " lint-imports codespell vulture staticcheck bats markdownlint rustfmt phpstan psalm"
            " pest clang-format clang-tidy cppcheck ktlint detekt swiftlint checkov tflint"
        ),
        GENERIC,
    ),
}
_BY_WORD: Final = {
    "go": {"test": "go", "vet": GENERIC, "build": GENERIC},
    "cargo": {
        **dict.fromkeys(listed("test t nextest llvm-cov tarpaulin hack"), "cargo"),
        **dict.fromkeys(listed("check c clippy build b"), "cargo-build"),
        "fmt": GENERIC,
    },
    "dotnet": {"test": "dotnet", "build": "dotnet-build", "format": GENERIC},
    "swift": {"test": "swift", "build": "swift-build"},
    "xcodebuild": {"test": "swift", "build": "swift-build"},
    "bazel": {"test": "bazel", "build": "bazel-build", "coverage": "bazel"},
    "bazelisk": {"test": "bazel", "build": "bazel-build", "coverage": "bazel"},
    "mix": {
        "test": "mix",
        **dict.fromkeys(listed("credo compile dialyzer format check lint"), GENERIC),
    },
    "deno": {"test": "deno", **dict.fromkeys(listed("lint check fmt task"), GENERIC)},
    "bun": {"test": "bun"},
    "meson": {"test": "meson", "compile": GENERIC},
    "sbt": {"test": "sbt", "compile": GENERIC},
    "flutter": {"test": "dart", "analyze": GENERIC, "build": GENERIC},
    "dart": {"test": "dart", "analyze": GENERIC, "format": GENERIC, "compile": GENERIC},
    "zig": {"test": "zig", "build": "zig"},
    "helm": {"lint": "helm"},
    "terraform": {"validate": "terraform"},
    "turbo": dict.fromkeys(listed("run test lint build check typecheck"), "turbo"),
    "ty": {"check": GENERIC},
    "pyrefly": {"check": GENERIC},
    "hatch": {"test": TESTS},
    "pdm": {"test": TESTS, "lint": GENERIC},
    "stack": {"test": TESTS, "build": GENERIC},
    "cabal": {"test": TESTS, "build": GENERIC},
    "lein": {"test": TESTS, "check": GENERIC},
    "rebar3": dict.fromkeys(listed("eunit ct"), TESTS),
    "next": {"build": GENERIC, "lint": GENERIC},
    "vite": {"build": GENERIC},
    "nuxt": {"build": GENERIC, "typecheck": GENERIC},
    "astro": {"build": GENERIC, "check": GENERIC},
    "ng": {"test": TESTS, "build": GENERIC, "lint": GENERIC},
    "webpack": {"": GENERIC, "build": GENERIC},
    "rollup": {"": GENERIC},
}
"""By program and its first word that is no option; "" is the program without one."""
_CHECKING_WORD: Final = re.compile(
    r"(?:test|tests|check|checks|lint|build|typecheck|type-check|types|ci|verify|vet|clippy|spec"
    r"|coverage|unit|e2e|integration|validate|qa|compile)(?:[:_-][\w:.-]+)?|[\w.-]+[:_-](?:test"
    r"|tests|check|lint|build)"
)
_TESTING_WORD: Final = re.compile(
    r"(?:tests?|spec|coverage|unit|e2e|integration)(?:[:_-][\w:.-]+)?|[\w.-]+[:_-]tests?"
)
_RUNNERS: Final = listed(
    "npm pnpm yarn bun make gmake just task rake rails composer ninja meson nx lerna lage moon"
    " invoke poe artisan deno dotnet mix"
)
_PACKAGES: Final = listed("npm pnpm yarn bun composer")
_NO_SCRIPT: Final = listed(
    "install i in add a remove rm un uninstall ci clean-install update up upgrade publish link"
    " unlink init create info view outdated audit pack version config cache login why ls list"
    " require create-project dump-autoload prune dedupe rebuild import set get"
)
"""Words of package managers that run no script."""
_FORWARDERS: Final = listed("npx pnpx bunx uvx pipx uv poetry pdm hatch rye pipenv coverage bundle")
_CONTAINERS: Final = listed("docker podman docker-compose nerdctl")
_TAKES_VALUE: Final = listed(
    "--with --python --group -p --extra --package --env-file -C -f --file --directory --filter -F"
    " --prefix -w --workspace --cwd --dir -e --env -v --volume -u --user --name --workdir"
    " --entrypoint --project-name --profile --network -n --namespace --project --config -c"
)
_PYTHON: Final = re.compile(r"(?:python|pypy|py)[\d.]*")
_SCRIPT: Final = re.compile(
    r"(?:run[-_]?)?(?:(?:unit|all|e2e|integration)[-_])?(?:tests?|checks?|lint|ci|build|verify)"
    r"(?:[-_]all)?(?:\.sh|\.bash)?"
)
_ASKS: Final = listed("--version --help -h")
_LISTS: Final = listed(
    "--collect-only --co --fixtures --markers --setup-plan --listTests --list-tests --list"
    " --no-run --dry-run --showConfig --show-config --show-only --print-config --init --just-print"
    " --recon --list-sessions --listenvs --setup-only"
)
"""Options with which a tool of any kind shows what it would do."""
_LISTS_OF: Final = {
    "ctest": listed("-N"),
    "make": listed("-n"),
    "gmake": listed("-n"),
    "tox": listed("-l -a"),
    "nox": listed("-l"),
    "go": listed("-list -n"),
    "gradle": listed("-m"),
    "gradlew": listed("-m"),
    "pytest": listed("-V"),
    "mypy": listed("-V"),
    "ruff": listed("-V"),
}
_COMPARES: Final = {
    "black": listed("--check"),
    "isort": listed("--check --check-only -c"),
    "prettier": listed("--check -c --list-different -l"),
    "rustfmt": listed("--check"),
    "shfmt": listed("-d --diff"),
    "clang-format": listed("--Werror -Werror"),
}
"""Tools that rewrite files unless one of these is given."""
_COMPARES_WORD: Final = {
    ("ruff", "format"): listed("--check --diff"),
    ("cargo", "fmt"): listed("--check"),
    ("dotnet", "format"): listed("--verify-no-changes"),
    ("mix", "format"): listed("--check-formatted"),
    ("deno", "fmt"): listed("--check"),
    ("dart", "format"): listed("--set-exit-if-changed"),
}
MAX_DEPTH: Final = 4
"""Commands within commands that are looked through."""


def tool_of(words: tuple[str, ...], depth: int = 0) -> str | None:
    """Return the tool that a simple command runs as a check, None when it is none."""
    if not words or depth > MAX_DEPTH:
        return None
    name = program(words[0]).removesuffix(".exe").removesuffix(".cmd")
    rest = words[1:]
    if name in _FORWARDERS and (inner := _forwarded(rest, depth)) is not None:
        return inner
    if name in _CONTAINERS:
        return _contained(rest, depth)
    if name in SHELLS:
        script = next((word for word in rest if not word.startswith("-")), "")
        return _of_script(program(script))
    if _PYTHON.fullmatch(name):
        return _of_python(rest, depth)
    if name == "php":
        return _of_php(rest, depth)
    if _only_shows(name, rest) or _rewrites(name, rest):
        return None
    return _OWN.get(name) or _of_runner(name, rest, depth)


def _only_shows(name: str, words: tuple[str, ...]) -> bool:
    return any(
        word in _ASKS or word in _LISTS or word in _LISTS_OF.get(name, ())
        for word in words[: words.index("--") if "--" in words else len(words)]
    )


def _rewrites(name: str, words: tuple[str, ...]) -> bool:
    wanted = _COMPARES.get(name)
    if wanted is None:
        first = next((word for word in words if word[:1] not in ("-", "+")), "")
        wanted = _COMPARES_WORD.get((name, first))
    return wanted is not None and not any(word.partition("=")[0] in wanted for word in words)


def _of_python(words: tuple[str, ...], depth: int) -> str | None:
    if "-m" in words:
        module = words[words.index("-m") + 1 :]
        if module[:1] == ("unittest",):
            return None if _only_shows("python", module[1:]) else "unittest"
        if module[:1] in (("compileall",), ("py_compile",)):
            return GENERIC
        return tool_of(module, depth + 1)
    script = next((word for word in words if not word.startswith("-")), "")
    name = program(script)
    if name == "manage.py":
        return "unittest" if "test" in words else None
    if name == "setup.py":
        return TESTS if "test" in words else None
    return TESTS if re.fullmatch(r"(?:run_?tests?|tests?|test_\w+|\w+_test)\.py", name) else None


def _of_php(words: tuple[str, ...], depth: int) -> str | None:
    script = next((word for word in words if not word.startswith("-")), "")
    if program(script) == "artisan":
        return TESTS if "test" in words else None
    return tool_of(words[words.index(script) :], depth + 1) if script else None


def _forwarded(words: tuple[str, ...], depth: int) -> str | None:
    """Look through `uv run …`, `npx …`, `coverage run -m …`."""
    index = 0
    while index < len(words) and (
        words[index].startswith("-") or words[index] in ("run", "exec", "tool", "x", "dlx")
    ):
        if words[index] == "-m":
            return _of_python(words[index:], depth)
        index += 2 if words[index] in _TAKES_VALUE else 1
    return tool_of(words[index:], depth + 1)


def _contained(words: tuple[str, ...], depth: int) -> str | None:
    """Look through `docker compose run --rm app …` and `docker exec app …`."""
    verb = next((index for index, word in enumerate(words) if word in ("run", "exec")), None)
    if verb is None:
        return None
    index = verb + 1
    while index < len(words) and words[index].startswith("-"):
        index += 2 if words[index] in _TAKES_VALUE else 1
    return tool_of(words[index + 1 :], depth + 1)


def _of_runner(name: str, words: tuple[str, ...], depth: int) -> str | None:
    named = _named(words)
    by_word = _BY_WORD.get(name, {})
    if (first := named[0] if named else "") in by_word:
        return by_word[first]
    if name == "node":
        return "node" if "--test" in words else None
    if name == "cmake":
        return "make" if "--build" in words else None
    if name in _RUNNERS:
        return _of_target(name, named, depth)
    return _of_script(name)


def _named(words: tuple[str, ...]) -> list[str]:
    """Return the words that are neither options nor their values nor assignments."""
    found = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word == "--":
            break
        elif word[:1] in ("-", "+"):
            skip = word in _TAKES_VALUE
        elif "=" not in word:
            found.append(word)
    return found


def _of_target(name: str, named: list[str], depth: int) -> str | None:
    if name in _PACKAGES:
        if named and named[0] in _NO_SCRIPT:
            return None
        direct = named[1:] if named[:1] in (["exec"], ["x"], ["run"], ["dlx"]) else named
        own = tool_of(tuple(direct), depth + 1) if direct and direct[0] in _OWN else None
        if own is not None:
            return own
    aimed = [word for word in named if word not in ("run", "exec", "run-script")]
    if name in ("make", "gmake", "ninja") and not aimed:
        return "make"
    if name == "npm" and aimed[:1] in (["t"], ["tst"]):
        return TESTS
    if any(_TESTING_WORD.fullmatch(word) for word in aimed[:3]):
        return TESTS
    return GENERIC if any(_CHECKING_WORD.fullmatch(word) for word in aimed[:3]) else None


def _of_script(name: str) -> str | None:
    if name in ("test", "[", "build") or _SCRIPT.fullmatch(name) is None:
        return None
    return TESTS if "test" in name else GENERIC
