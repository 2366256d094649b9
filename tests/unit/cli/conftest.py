"""Fixtures: a broker, and a function that runs commands with its address."""

from collections.abc import Iterator

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
