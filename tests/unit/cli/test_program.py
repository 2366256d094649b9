"""The typer application lists every command, and imports and builds only the named one."""

import subprocess
import sys

import pytest
import typer.main

from cordwood.cli import serve_run
from cordwood.cli.exit_codes import CommandLineError
from cordwood.cli.program import FAMILIES, add_family, application
from tests.unit.cli.commands import Command

BUILT = """
import sys
from cordwood.cli.program import FAMILIES, application
application({arguments})
print([name for name in FAMILIES if f"cordwood.cli.{{name}}" in sys.modules])
"""


def test_list_contains_each_family(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        application(["--help"])(["--help"])

    listed = capsys.readouterr().out
    assert all(f"  {each} " in listed for each in FAMILIES)


@pytest.mark.parametrize("name", sorted({*FAMILIES} - {"serve"}))
def test_list_has_the_help_of_the_family(name: str) -> None:
    app = typer.Typer()
    app.callback()(lambda: None)
    add_family(app, name)

    (command,) = typer.main.get_group(app).commands.values()

    assert command.name == name
    assert " ".join((command.help or "").split("\n\n")[0].split()) == FAMILIES[name]


@pytest.mark.parametrize(
    ("arguments", "built"),
    ((["--help"], []), (["log", "verify"], ["log"]), (["--", "log"], ["log"])),
)
def test_only_the_named_family_is_imported(arguments: list[str], built: list[str]) -> None:
    code = BUILT.format(arguments=arguments)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == str(["serve", *built])


def test_unknown_command_is_rejected() -> None:
    with pytest.raises(CommandLineError, match=r"there is no command 'lag'\. Did you mean"):
        application(["lag"])


def test_command_runs_in_the_spelling_of_kafka(command: Command) -> None:
    command("topics", "--create", "--topic", "a")

    assert command("topics", "--list").out == "a\n"


def test_application_runs_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []
    monkeypatch.setattr(serve_run, "serve", lambda *args, **_: calls.extend(args))

    with pytest.raises(SystemExit):
        application(["serve"])(["serve", "--set", "log.dirs=x", "a.properties"])

    assert calls == ["a.properties", ["log.dirs=x"]]
