"""`cordwood doctor`: checks of this machine. `cli.doctor_checks` contains them."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from cordwood.cli.arguments import absolute_path
from cordwood.cli.exit_codes import FOUND_WRONG
from cordwood.cli.terminal import print_output

Data = Annotated[
    str, typer.Option(metavar="DIR", help="Directory for the logs, to check its disk.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def doctor(*, data: Data = ".", as_json: AsJson = False) -> None:
    """Check this machine, and print a remedy for each problem; exit with 1 if one is fatal."""
    from cordwood.cli import doctor_checks  # noqa: PLC0415  # help needs none of it

    findings = doctor_checks.run_checks(absolute_path(data))
    if as_json:
        print_output(json.dumps({"findings": [asdict(each) for each in findings]}))
    else:
        print_output("\n".join(map(str, findings)))
    if any(each.state == doctor_checks.BAD for each in findings):
        raise typer.Exit(FOUND_WRONG)


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(epilog="Example: cordwood doctor --data kafka-logs")(doctor)
