"""Seeded text for synthetic stores: prose, code, logs, CJK; a secret now and then.

Code and prose come from the running Python's standard library, because what a redactor and a
tokenizer cost depends on real words; the choice of pieces is seeded.
"""

from __future__ import annotations

import random
import sysconfig
from functools import cache
from pathlib import Path
from pydoc_data.topics import topics
from typing import Final

SHARE_CJK: Final = 0.06
SHARE_SECRET: Final = 0.002
_CJK: Final = (
    "数据库迁移失败需要回滚测试已经通过请检查配置文件并重新运行这个函数返回空值"
    "会话记录同步延迟问题修复完成下一步是更新文档テスト失敗原因調査中ビルド成功한국어문서검토필요"
)
_SECRETS: Final = (
    "export GITHUB_TOKEN=ghp_{0}",
    "Authorization: Bearer {0}{0}",
    'password = "{0}"',
    "postgres://app:{0}@db.internal:5432/main",
)
_LOG: Final = (
    "tests/test_{0}.py::test_{1} PASSED [ {2}%]",
    "tests/test_{0}.py::test_{1} FAILED [ {2}%]",
    "2026-11-30 10:{2:02d}:17,042 INFO  worker.{0} handled request {1} in {2} ms",
    "src/{0}/{1}.py:{2}:12: error: Incompatible return value type",
    "-rw-r--r-- 1 dev dev {2:8d} Nov 30 10:17 src/{0}/{1}.py",
    "{1} {2:>6} https://example.com/{0}/{1}?page={2}",
)


@cache
def _corpus() -> tuple[list[str], list[str]]:
    """Return (paragraphs of prose, pieces of code of about 40 lines)."""
    root = Path(sysconfig.get_path("stdlib"))
    parts = "\n\n".join(topics[name] for name in sorted(topics)).split("\n\n")
    prose = [part for part in parts if 80 < len(part) < 1500]
    code: list[str] = []
    for path in sorted(root.glob("*.py")):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        code += ["\n".join(lines[at : at + 40]) for at in range(0, len(lines), 40)]
    return prose, [piece for piece in code if len(piece) > 200]


class Words:
    """A seeded source of text."""

    def __init__(self, seed: int, corpus: tuple[list[str], list[str]] | None = None) -> None:
        """`corpus`: paragraphs and pieces of code; by default those of the standard library."""
        self.random = random.Random(seed)
        self._prose, self._code = _corpus() if corpus is None else corpus
        self._names = [f"{a}{b}" for a in ("parse", "load", "sync", "auth") for b in range(60)]

    def hexes(self, digits: int) -> str:
        """Return random hex digits."""
        return f"{self.random.getrandbits(4 * digits):0{digits}x}"

    def uuid(self) -> str:
        """Return a random UUID."""
        raw = self.hexes(32)
        return f"{raw[:8]}-{raw[8:12]}-4{raw[13:16]}-a{raw[17:20]}-{raw[20:]}"

    def size(self, median: float, largest: int) -> int:
        """Return a size with a long tail."""
        return min(largest, int(self.random.lognormvariate(0, 1.1) * median))

    def prose(self, size: int) -> str:
        """Return about `size` characters of prose, some of it CJK."""
        if self.random.random() < SHARE_CJK:
            return self._cjk(size // 3 + 4)
        return self._pieces(self._prose, size, "\n\n")

    def code(self, size: int) -> str:
        """Return about `size` characters of source code."""
        return self._pieces(self._code, size, "\n")

    def output(self, size: int) -> str:
        """Return about `size` characters of what a tool prints."""
        if self.random.random() < 0.5:
            return self.code(size)
        lines, length = [], 0
        while length < size:
            shape = self.random.choice(_LOG)
            name = self.random.choice(self._names)
            line = shape.format(name, self.hexes(6), self.random.randrange(99))
            lines.append(line)
            length += len(line) + 1
        if self.random.random() < SHARE_SECRET * 10:
            lines.insert(0, self.random.choice(_SECRETS).format(self.hexes(40)))
        return "\n".join(lines)

    def command(self) -> str:
        """Return a shell command."""
        name = self.random.choice(self._names)
        return self.random.choice(
            (
                f"pytest -q tests/test_{name}.py",
                f"rg -n 'def {name}' src | head -40",
                f"sed -n '1,120p' src/{name}.py && git diff --stat",
                f"python -m {name} --verbose 2>&1 | tail -50",
            )
        )

    def path(self) -> str:
        """Return the path of a file in the project, relative."""
        return f"src/{self.random.choice(self._names)}.py"

    def _cjk(self, size: int) -> str:
        start = self.random.randrange(len(_CJK))
        text = (_CJK * (size // len(_CJK) + 2))[start : start + size]
        return "，".join(text[at : at + 12] for at in range(0, len(text), 12))

    def _pieces(self, pieces: list[str], size: int, glue: str) -> str:
        parts, length = [], 0
        while length < size:
            piece = self.random.choice(pieces)
            parts.append(piece)
            length += len(piece) + len(glue)
        return glue.join(parts)[:size]
