"""`workstream harnesses`: which harnesses are here and what works with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from launcher.diagnosis.programs import HarnessView


@click.command("harnesses")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON envelope.")
def command(*, as_json: bool) -> int:
    """List harnesses: built in, installed by others, configured; found or not, what works."""
    from launcher.diagnosis import programs
    from launcher.output import emit_json
    from launcher.place import here
    from launcher.reading import answer
    from ledger.visible import show

    views = programs.look(here())
    if as_json:
        emit_json("harnesses", {"harnesses": [view.document() for view in views]})
    else:
        answer(show("\n\n".join(_block(view) for view in views)))
    return 0


def _block(view: HarnessView) -> str:
    title = view.use if view.adapter is None else view.adapter.title
    version = "" if view.program is None else f" {view.program.version or '?'}"
    origin = " (third party)" if view.third_party else ""
    lines = [f"{view.name}  {title}{version}{origin}"]
    if view.why_not is not None:
        lines.append(f"  not usable  {view.why_not}")
        lines += [f"              {view.fix}"] if view.fix else []
    if view.path is not None:
        lines.append(f"  program     {view.path}")
        if view.program is not None and view.program.path != view.path:
            lines.append(f"              runs {view.program.path}")
    if view.adapter is not None:
        tested = ", ".join(view.adapter.verified)
        other = view.version_verified is False
        lines.append(f"  tested      {tested}{'; this version was not' if other else ''}")
    if view.home is not None:
        gone = "" if view.home.is_dir() else ", not there yet"
        lines.append(f"  sessions    {view.home} ({view.home_from}){gone}")
    wide = max((len(name) for name in view.works), default=0)
    lines += [f"  {name:<{wide}}  {what}" for name, what in view.works.items()]
    if view.channel_why is not None:
        lines.append(f"  but         {view.channel_why}: {view.channel} is used")
    lines += [f"  problem     {text}" for text in (view.program.problems if view.program else ())]
    return "\n".join(lines)
