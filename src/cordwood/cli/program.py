"""The typer application: every family of commands, with its help.

It lists `serve` too, although `cli.main` runs that command without typer.
"""

import sys
from typing import Annotated

import typer

from cordwood.cli import (
    bench,
    compact,
    configs,
    consume,
    doctor,
    groups,
    log,
    produce,
    serve,
    spark,
    topics,
    transactions,
)
from cordwood.cli.terminal import is_terminal, print_output

app = typer.Typer(
    name="cordwood",
    help="A Kafka-compatible log and broker in Python.",
    epilog="Example: cordwood log dump --files 00000000000000000000.log --deep-iteration",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich" if is_terminal(sys.stdout) else None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command(
    "serve",
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    add_help_option=False,
    help=serve.SUMMARY,
)
def _serve(context: typer.Context) -> None:
    serve.serve(context.args)


app.add_typer(topics.app, name="topics")
app.add_typer(configs.app, name="configs")
app.add_typer(groups.app, name="groups")
app.add_typer(transactions.app, name="transactions")
produce.add_to(app)
consume.add_to(app)
app.add_typer(bench.app, name="bench")
app.add_typer(log.app, name="log")
compact.add_to(app)
app.add_typer(spark.app, name="spark")
doctor.add_to(app)


def _print_version(is_given: bool) -> None:  # noqa: FBT001  # how typer calls it
    if is_given:
        from cordwood import __version__  # noqa: PLC0415  # only this option needs it

        print_output(f"cordwood {__version__}")
        raise typer.Exit


Version = Annotated[
    bool,
    typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version."),
]


@app.callback()
def _families(*, version: Version = False) -> None:
    """Keep the family names even if only one family is registered."""
