"""`workstream doctor`: check this installation and its state."""

from __future__ import annotations

import click


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON envelope.")
def command(*, as_json: bool) -> int:
    """Check program, state, ledger and harnesses; say what mends what is wrong.

    Changes nothing. Exit code 65 when something does not work, else 0.
    """
    from launcher import exit_codes
    from launcher.diagnosis import doctor
    from launcher.output import emit_json
    from launcher.reading import answer
    from ledger.visible import show

    diagnosis = doctor.examine()
    if as_json:
        emit_json("doctor", diagnosis.document(), diagnosis.errors())
    else:
        answer(show(doctor.rendered(diagnosis)))
    return exit_codes.OK if diagnosis.ok else exit_codes.FINDINGS
