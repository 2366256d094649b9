"""A broker for a test, and commands that are given to it."""

from collections.abc import Iterator

import pytest

from tests.unit.cli.commands import Command, Said, run, running_broker


@pytest.fixture
def bootstrap() -> Iterator[str]:
    """Where a broker of the test's own is reached."""
    with running_broker() as address:
        yield address


@pytest.fixture
def command(
    bootstrap: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Command:
    """Give a command to that broker: its words, and what it reads."""

    def give(*arguments: str, stdin: bytes = b"") -> Said:
        words = (*arguments, "--bootstrap-server", bootstrap)
        return run(words, monkeypatch, capfd, stdin=stdin)

    return give
