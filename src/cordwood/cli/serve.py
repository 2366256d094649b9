"""`cordwood serve`: a broker on this machine, until a signal ends it. `cli.serving` runs it."""

from typing import Annotated

import typer

Properties = Annotated[
    str | None, typer.Argument(metavar="[server.properties]", help="Kafka's file of settings.")
]
Data = Annotated[str | None, typer.Option(metavar="DIR", help="Where the logs are: log.dirs.")]
Listen = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="Where to listen: listeners.")
]
Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any setting, repeatedly.")
]


def serve(
    properties: Properties = None,
    *,
    data: Data = None,
    listen: Listen = None,
    settings: Set = None,
) -> None:
    """Run a broker until SIGTERM or SIGINT; one line tells where, once it is ready."""
    from cordwood.cli import serving  # noqa: PLC0415  # help needs none of it

    serving.serve(properties, serving.overrides(settings or (), data=data, listen=listen))


def add_to(app: typer.Typer) -> None:
    """Make the command one of the program's."""
    app.command(epilog="Example: cordwood serve --data logs --listen 127.0.0.1:9092")(serve)
