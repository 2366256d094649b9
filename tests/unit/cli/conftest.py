"""Fixtures: a broker, and a function that runs commands with its address."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.cli.commands import Command, CommandResult, run, running_broker


@pytest.fixture
def bootstrap() -> Iterator[str]:
    """Return the address of a broker of this test."""
    with running_broker() as address:
        yield address


@pytest.fixture
def command(
    bootstrap: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Command:
    """Return a function that runs a command with the address of that broker."""

    def give(*arguments: str, stdin: bytes = b"") -> CommandResult:
        words = (*arguments, "--bootstrap-server", bootstrap)
        return run(words, monkeypatch, capfd, stdin=stdin)

    return give


@pytest.fixture(autouse=True)
def without_configuration_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the settings of the person who runs the tests."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("CORDWOOD_CONFIG", raising=False)
    monkeypatch.delenv("CORDWOOD_BOOTSTRAP_SERVER", raising=False)
