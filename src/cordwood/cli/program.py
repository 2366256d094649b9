"""The typer application: every family of commands, with its help.

typer builds every option of every command that it receives. So the module of a family is imported,
and its commands are built, only if the arguments name it; the list of all families is a table. It
has `serve` too, although `cli.main` runs that command without typer.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Final

import typer
from typer.core import TyperGroup

from cordwood.cli import serve
from cordwood.cli.exit_codes import CommandLineError
from cordwood.cli.plain_values import Command, convert_plain_values
from cordwood.cli.terminal import is_terminal, print_output
from cordwood.cli.usage.kafka_commands import answer_unknown
from cordwood.cli.usage.kafka_options import translate
from cordwood.cli.usage.value_names import name_values

#: The help of each command, or family of commands, by the name of its module.
FAMILIES: Final = {
    serve.NAME: serve.SUMMARY,
    "produce": "Send each line of the standard input or of a file as a record.",
    "consume": "Print the records of a topic until Ctrl-C, by default only new ones.",
    "compact": "Compact partitions in place: keep only the last record of each key.",
    "doctor": (
        "Check this machine, and print a remedy for each problem; exit with 1 if one is fatal."
    ),
    "topics": "Create, describe, alter and delete topics.",
    "offsets": "Print the first and the end offset of each partition, or the offset at a time.",
    "configs": "Describe and alter settings of topics, groups, brokers and loggers.",
    "groups": "List and describe groups, reset their offsets, and delete them.",
    "cluster": "Run a cluster on this machine; show and change leaders and replicas.",
    "transactions": "List, describe and abort transactions, and find those that hang.",
    "log-dirs": "Describe the log directories of brokers.",
    "bench": "Measure the throughput and latency of a cluster.",
    "completion": "Print a script that lets a shell complete commands, options and choices.",
    "log": "Dump, verify, explain and repair the files of logs.",
    "spark": "Run Spark jobs over logs.",
}


def run(arguments: Sequence[str]) -> None:
    """Run the command that the arguments name, in Kafka's spelling or in ours."""
    if [*arguments[:3]] == ["completion", "words", "--"]:
        _print_suggestions(arguments[3:])
        return
    words = translate(arguments)
    command = _command(application(words))
    convert_plain_values(command)
    name_values(command)
    command(words)


def _command(app: typer.Typer) -> Command:
    command = typer.main.get_command(app)
    assert isinstance(command, Command), "typer builds its own commands"
    return command


def _print_suggestions(words: Sequence[str]) -> None:
    """Print the words with which a shell can complete a command line."""
    from cordwood.cli.usage.completion_words import suggest  # noqa: PLC0415  # for shells alone

    def build(family: str) -> Command:
        root = _command(application([family]))
        assert isinstance(root, TyperGroup), "it has the family as its command"
        command = root.commands[family]
        assert isinstance(command, Command), "typer builds its own commands"
        return command

    options = {serve.NAME: serve.OPTIONS}
    for each in suggest(words, families=FAMILIES, options=options, build=build):
        print_output(f"{each.word}\t{each.help}")


def application(arguments: Sequence[str]) -> typer.Typer:
    """Return the application for these arguments: with the family that they name, or with all."""
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
    app.callback()(_families)
    named = next((each for each in arguments if not each.startswith("-")), "")
    if named and named not in FAMILIES:
        raise CommandLineError(answer_unknown(named, FAMILIES))
    if named == serve.NAME:
        settings = {"ignore_unknown_options": True, "allow_extra_args": True}
        app.command(named, context_settings=settings, add_help_option=False)(_serve)
    elif named in FAMILIES:
        add_family(app, named)
    else:
        for name, text in FAMILIES.items():
            app.command(name, help=text, short_help=text)(_listed)
    return app


def add_family(app: typer.Typer, name: str) -> None:
    """Register the command, or the family of commands, of a module."""
    module = import_module(f"cordwood.cli.{name.replace('-', '_')}")
    if hasattr(module, "app"):
        app.add_typer(module.app, name=name)
    else:
        module.add_to(app)


def _serve(context: typer.Context) -> None:
    serve.serve(context.args)


def _print_version(is_given: bool) -> None:  # noqa: FBT001  # how typer calls it
    if is_given:
        from cordwood.core.version import __version__  # noqa: PLC0415  # only this option needs it

        print_output(f"cordwood {__version__}")
        raise typer.Exit


Version = Annotated[
    bool,
    typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version."),
]


def _families(*, version: Version = False) -> None:
    """Keep the family names even if only one family is registered."""


def _listed() -> None:
    """Stand for a family in the list; arguments that name one run its own commands."""
