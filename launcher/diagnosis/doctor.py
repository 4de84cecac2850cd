"""Everything that `doctor` looks at, in the order in which it tells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from launcher.diagnosis import book, files, installation, programs, surroundings
from launcher.diagnosis.finding import Finding, Level
from launcher.diagnosis.programs import HarnessView
from launcher.version import VERSION

_ORDER = (Level.OK, Level.NOTE, Level.WARNING, Level.PROBLEM)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The whole answer."""

    home: str
    findings: tuple[Finding, ...]
    harnesses: tuple[HarnessView, ...]

    @property
    def worst(self) -> Level:
        """The level that matters most among the findings."""
        return max((finding.level for finding in self.findings), key=_ORDER.index)

    @property
    def ok(self) -> bool:
        """Whether nothing is a problem."""
        return self.worst is not Level.PROBLEM

    def document(self) -> dict[str, Any]:
        """Return it as `doctor --json` gives it."""
        return {
            "ok": self.ok,
            "level": str(self.worst),
            "version": VERSION,
            "home": self.home,
            "findings": [asdict(finding) for finding in self.findings],
            "harnesses": [view.document() for view in self.harnesses],
        }

    def errors(self) -> list[dict[str, Any]]:
        """Return the problems as entries of the envelope's error list."""
        return [
            {"code": f.code, "message": f.sentence, "detail": f.about, "next": f.fix}
            for f in self.findings
            if f.level is Level.PROBLEM
        ]


def examine(env: Mapping[str, str] | None = None) -> Diagnosis:
    """Look at everything; changes nothing but the remembered answers of programs. Never raises."""
    place, around = surroundings.look(env)
    ledger = book.look(place.home)
    views = programs.look(place)
    return Diagnosis(
        home=str(place.home),
        findings=(
            *installation.findings(place.env, place.cwd),
            *around,
            *files.findings(place.home, ledger.unfinished),
            *ledger.findings,
            *programs.findings(views, place),
        ),
        harnesses=tuple(views),
    )


def rendered(diagnosis: Diagnosis) -> str:
    """Return the findings in lines for a person, what matters most last."""
    lines = []
    for level in _ORDER:
        for finding in diagnosis.findings:
            if finding.level is level:
                lines.append(f"{level:<8} {finding.sentence}")
                if finding.fix is not None and level is not Level.OK:
                    lines.append(f"         → {finding.fix}")
    return "\n".join(lines)
