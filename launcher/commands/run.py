"""`workstream run`: the options; the work is in `launcher/run.py`."""

from __future__ import annotations

from pathlib import Path

import click

from launcher.options import RunOptions, parse_env
from ledger.errors import WorkstreamError


@click.command(
    "run",
    context_settings={
        "ignore_unknown_options": False,
        "allow_interspersed_args": False,
        "help_option_names": ["-h", "--help"],
    },
)
@click.option("--workstream", metavar="NAME", help="Use this workstream of the repository.")
@click.option("--new", metavar="NAME", help="Create a workstream and use it.")
@click.option("--fresh", is_flag=True, help="Start a new native session.")
@click.option(
    "--rollover/--no-rollover",
    default=None,
    help="Start a new native session from the handoff; or resume even a full one.",
)
@click.option("--from", "source", metavar="A[@REV]", help="With --new: start from A's handoff.")
@click.option("--adopt", metavar="ID", help="Go on with a session that began without us.")
@click.option("--objective", metavar="TEXT", help="Set what the work is for.")
@click.option("--executable", metavar="PATH", help="Start this program.")
@click.option("--env", "env", metavar="K=V", multiple=True, help="Set a variable for the harness.")
@click.option("--env-file", metavar="F", help="Read variables for the harness from a file.")
@click.option("--budget", type=int, metavar="BYTES", help="Size of the briefing.")
@click.option("--briefing/--no-briefing", default=None, help="Give a briefing, or none.")
@click.option("--take-over", is_flag=True, help="Replace whoever runs this workstream now.")
@click.option("--wait", type=click.IntRange(0), metavar="SECONDS", help="Wait when it is busy.")
@click.option("--yolo", is_flag=True, help="Pass the harness's own flag that skips its approvals.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing of ours.")
@click.option("--dry-run", is_flag=True, help="Print the plan and change nothing.")
@click.option("--report", metavar="FILE", type=click.Path(path_type=Path), help="Write JSON.")
@click.option("--unmanaged", is_flag=True, help="Start the harness without a run.")
@click.argument("harness", required=False)
@click.argument("args", nargs=-1, type=click.UNPROCESSED, metavar="[NATIVE ARGS]...")
def command(
    harness: str | None,
    args: tuple[str, ...],
    env: tuple[str, ...],
    env_file: str | None,
    report: Path | None,
    **options: object,
) -> int:
    """Start HARNESS on a workstream: in its own session, told what happened elsewhere.

    Without HARNESS the one used last goes on; `-` is the one before. Everything after HARNESS is
    the harness's own, in order.
    """
    from launcher.place import here
    from launcher.report import not_started
    from launcher.run import run

    try:
        asked = RunOptions(
            harness=harness,
            args=args,
            env=parse_env(env, env_file),
            report=report,
            **options,  # type: ignore[arg-type]  # click's names and types are RunOptions' own
        )
        return run(asked, here())
    except WorkstreamError as error:
        if report is not None:
            not_started(report, error, error.exit_code)
        raise
