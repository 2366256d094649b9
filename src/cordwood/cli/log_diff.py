"""`cordwood log diff`: comparison of two partition directories."""

from typing import Annotated, Final

import typer

from cordwood.cli.arguments import absolute_path
from cordwood.cli.exit_codes import FOUND_WRONG
from cordwood.cli.terminal import print_output

EXAMPLE: Final = "Example: cordwood log diff broker-1/orders-0 broker-2/orders-0"

A = Annotated[str, typer.Argument(help="Directory of a partition.")]
B = Annotated[str, typer.Argument(help="Directory to compare it with.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(epilog=EXAMPLE)(diff)


def diff(a: A, b: B, *, as_json: AsJson = False) -> None:
    """Compare two replicas of a partition, or a log and its copy; exit with 1 if they differ."""
    from cordwood.core.system import SystemFiles  # noqa: PLC0415  # help needs none of it
    from cordwood.records.kernels import decoder  # noqa: PLC0415  # as above
    from cordwood.workbench.log_diff import diff_logs  # noqa: PLC0415  # as above

    found = diff_logs(SystemFiles(), absolute_path(a), b=absolute_path(b), decoder=decoder())
    print_output(found.to_json() if as_json else str(found))
    if not found.is_same:
        raise typer.Exit(FOUND_WRONG)
