"""Prints what each reader made of its cases, below the tests' own results."""

from collections.abc import Callable

import pytest

_LINES = pytest.StashKey[list[str]]()


@pytest.fixture
def report(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Take a line for the end of the run."""
    return request.config.stash.setdefault(_LINES, []).append


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the lines that the tests have reported."""
    lines = config.stash.get(_LINES, [])
    if lines:
        terminalreporter.section("damaged input")
    for line in lines:
        terminalreporter.write_line(line)
