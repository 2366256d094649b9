"""docs/commands.md shows commands with their output; this test runs them unchanged.

Ids of topics, figures and lags in seconds are another each time, and so are not compared.
"""

import re
import shlex
from pathlib import Path
from typing import Final

import pytest

from cordwood.cli.client_defaults import parse_config
from tests.test_workbench_page import transcripts
from tests.unit.cli.commands import run, running_broker

PAGE: Final = Path(__file__).parents[1] / "docs" / "commands.md"
BROKER: Final = "localhost:9092"
MEASURED: Final = "cordwood bench "
DESCRIBED: Final = "cordwood groups describe "
SECONDS: Final = re.compile(r"\d+\.\d+ +")
TOPIC_ID: Final = re.compile(r"[\w-]{22}")


def comparable(text: str, command: str) -> str:
    """Return what a command prints each time."""
    if command.startswith(MEASURED):
        return re.sub(r"[\d.,]*\d", "#", text)
    if command.startswith(DESCRIBED):
        return SECONDS.sub("# ", text)
    return TOPIC_ID.sub("ID", text)


def test_commands_page_shows_the_output_of_its_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code = 0

    with running_broker() as bootstrap:
        for command, shown in transcripts(PAGE.read_text()):
            if command.startswith("cat "):
                Path(command.removeprefix("cat ")).write_text(shown)
                continue
            if command == "echo $?":
                assert f"{code}\n" == shown
                continue
            words = shlex.split(command.replace(BROKER, bootstrap))
            code, out, err = run(tuple(words[1:]), monkeypatch, capfd)
            printed = (out + err).replace(bootstrap, BROKER)
            assert comparable(printed, command) == comparable(shown, command), command


def test_commands_page_shows_a_configuration_file_that_is_accepted() -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)

    assert parse_config("config.toml", text.encode()).settings["security.protocol"] == "SSL"


@pytest.mark.parametrize(
    "verb",
    (
        *(f"topics {each}" for each in ("list", "create", "describe", "alter", "delete")),
        *(f"groups {each}" for each in ("list", "describe", "reset-offsets", "delete")),
        *(
            "offsets",
            "log-dirs describe",
            "groups delete-offsets",
            "transactions list",
            "transactions find-hanging",
        ),
        *("topics delete-records", "configs describe", "configs alter", "produce", "consume"),
        *(f"bench {each}" for each in ("produce", "consume", "latency")),
    ),
)
def test_commands_page_shows_every_verb(verb: str) -> None:
    commands = [command for command, _ in transcripts(PAGE.read_text())]

    assert any(command.startswith(f"cordwood {verb} ") for command in commands)
