"""`cordwood serve`: a broker on this machine, until a signal. `cli.serve_run` runs it.

Its arguments are parsed without typer, which imports pydantic as soon as a command has an option.
The two take ten megabytes, and as much time to import as a broker takes to start.
"""

from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Final

from cordwood.cli.exit_codes import CommandLineError
from cordwood.cli.stop_signals import StopSignals

NAME: Final = "serve"
SUMMARY: Final = (
    "Run a broker until SIGTERM, SIGINT or SIGHUP; print its addresses once it is ready."
)

#: The options, for the completion of shells.
OPTIONS: Final = (
    *("--data", "--listen", "--set", "--debug", "--without-altered-configs", "--help"),
)
#: The settings of `--debug`; `--set` overrides them.
DEBUG: Final = ("cordwood.slow.call.ms=20",)
#: The settings of `--without-altered-configs`.
WITHOUT_ALTERED: Final = ("cordwood.without.altered.configs=true",)


def serve(arguments: Sequence[str]) -> None:
    """Parse the arguments, and run the broker or print the help."""
    with StopSignals() as signals:
        _answer_config_option(arguments)
        parsed = _parser().parse_args(arguments)
        from cordwood.cli import serve_run  # noqa: PLC0415  # help needs none of it

        settings = serve_run.overrides(
            [
                *(DEBUG if parsed.debug else ()),
                *(WITHOUT_ALTERED if parsed.without_altered_configs else ()),
                *parsed.settings,
            ],
            data=parsed.data,
            listen=parsed.listen,
        )
        serve_run.serve(parsed.properties, settings, signals=signals)


def _answer_config_option(arguments: Sequence[str]) -> None:
    """Raise CommandLineError for an option with the file of settings, which is an argument here."""
    if any(each.partition("=")[0] == "--config" for each in arguments):
        raise CommandLineError(
            "serve has no option --config; give the file as an argument: "
            "cordwood serve server.properties"
        )


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog=f"cordwood {NAME}",
        description=SUMMARY,
        epilog="Example: cordwood serve --data logs --listen 127.0.0.1:9092",
        allow_abbrev=False,
    )
    parser.add_argument(
        "properties", metavar="server.properties", nargs="?", help="Read settings from this file."
    )
    parser.add_argument(
        "--data", metavar="DIR", help="Set log.dirs, the log directory. [default: ./cordwood-data]"
    )
    parser.add_argument(
        "--listen",
        metavar="[HOST:]PORT",
        help="Set listeners, the address. [default: 127.0.0.1:9092, for this machine alone]",
    )
    parser.add_argument(
        "--set",
        "--override",  # Kafka's spelling
        dest="settings",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="Set one broker setting. Repeatable.",
    )
    parser.add_argument(
        "--debug",
        action="store_true",
        help="Report each callback that blocks the event loop for 20 ms, with its stack.",
    )
    parser.add_argument(
        "--without-altered-configs",
        action="store_true",
        help=(
            "Do not use the altered settings of brokers, but keep them. Use it if one of them "
            "prevents the start, and delete that setting."
        ),
    )
    return parser
