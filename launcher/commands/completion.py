"""`workstream completion`: the shell completion script."""

from __future__ import annotations

import click


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(*, shell: str) -> int:
    """Print the completion script for SHELL; put it where your shell loads such scripts."""
    from click.shell_completion import get_completion_class

    from launcher.cli import cli

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"there is no completion for {shell}")
    click.echo(kind(cli, {}, "workstream", "_WORKSTREAM_COMPLETE").source())
    return 0
