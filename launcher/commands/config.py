"""`workstream config`: the configuration and where each value comes from."""

from __future__ import annotations

import click


@click.command("config")
@click.option("--path", "path_only", is_flag=True, help="Print the path of your file.")
@click.option("--example", is_flag=True, help="Print a commented example file.")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON envelope.")
def command(*, path_only: bool, example: bool, as_json: bool) -> int:
    """Show every setting, its value and where it comes from; your own file is never written."""
    from launcher.config import EXAMPLE, user_file
    from launcher.output import emit_json, say
    from launcher.place import here

    place = here()
    path = user_file(place.env)
    if path_only:
        click.echo(str(path))
        return 0
    if example:
        from launcher.harnesses import registry

        click.echo(EXAMPLE.replace("HARNESS", registry.names()[0]), nl=False)
        return 0
    config = place.config
    if as_json:
        entries = {
            name: {
                "use": entry.use,
                "env": sorted(entry.env),
                "args": len(entry.args),
                "home": entry.home,
                "executable": entry.executable,
            }
            for name, entry in config.entries.items()
        }
        data = {
            "file": str(path),
            "exists": path.exists(),
            "values": dict(config.values),
            "origins": dict(config.origins),
            "harnesses": entries,
            "warnings": list(config.warnings),
        }
        emit_json("config", data)
        return 0
    for key, value in config.values.items():
        click.echo(f"{key:<21} {value!s:<24} {config.origins[key]}")
    for name, entry in config.entries.items():
        names = ", ".join(sorted(entry.env)) or "none"
        click.echo(f"harness.{name:<8} use {entry.use}, home {entry.home or '-'}, sets {names}")
    say(f"your file: {path}{'' if path.exists() else ' (not there; see --example)'}")
    for warning in config.warnings:
        say(warning)
    return 0
