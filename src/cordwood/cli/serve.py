"""`cordwood serve`: a broker on this machine, until a signal ends it. `cli.serving` runs it.

Its arguments are read without typer, which brings pydantic in as soon as a command has an option:
the two take as long to import as a broker takes to start, and ten megabytes.
"""

from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Final

NAME: Final = "serve"
SUMMARY: Final = "Run a broker until SIGTERM or SIGINT; one line tells where, once it is ready."


def serve(arguments: Sequence[str]) -> None:
    """Serve as the arguments say; who asks for help gets that."""
    said = _parser().parse_args(arguments)
    from cordwood.cli import serving  # noqa: PLC0415  # help needs none of it

    serving.serve(
        said.properties, serving.overrides(said.settings, data=said.data, listen=said.listen)
    )


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog=f"cordwood {NAME}",
        description=SUMMARY,
        epilog="Example: cordwood serve --data logs --listen 127.0.0.1:9092",
        allow_abbrev=False,
    )
    parser.add_argument(
        "properties", metavar="server.properties", nargs="?", help="Kafka's file of settings."
    )
    parser.add_argument("--data", metavar="DIR", help="Where the logs are: log.dirs.")
    parser.add_argument("--listen", metavar="HOST:PORT", help="Where to listen: listeners.")
    parser.add_argument(
        "--set",
        dest="settings",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="Any setting, repeatedly.",
    )
    return parser
