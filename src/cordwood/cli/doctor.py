"""`cordwood doctor`: what this machine has of what Cordwood needs. `cli.checkup` looks."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from cordwood.cli.endings import FOUND_WRONG
from cordwood.cli.output import say
from cordwood.cli.paths import absolute

Data = Annotated[str, typer.Option(metavar="DIR", help="Where logs are to be.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]


def doctor(*, data: Data = ".", as_json: AsJson = False) -> None:
    """Say what was found, and what to do about what is missing; 1 if something has to be done."""
    from cordwood.cli import checkup  # noqa: PLC0415  # help needs none of it

    findings = checkup.look(absolute(data))
    if as_json:
        say(json.dumps({"findings": [asdict(each) for each in findings]}))
    else:
        say("\n".join(map(str, findings)))
    if any(each.state == checkup.BAD for each in findings):
        raise typer.Exit(FOUND_WRONG)


def add_to(app: typer.Typer) -> None:
    """Make the command one of the program's."""
    app.command(epilog="Example: cordwood doctor --data kafka-logs")(doctor)
