"""docs/operations.md names metrics and log events that exist, and every trouble that is logged."""

import re
from pathlib import Path

from cordwood.observability.catalogue import CATALOGUE

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
_METRIC = re.compile(r"`(cordwood_\w+)`")
_EVENT = re.compile(r"`([a-zA-Z]+(?: [a-z]+)*)`")
_LOGGED = re.compile(r'\b_log\.(warning|error|exception|info)\(\s*"([^"]+)"')
_ENDED = re.compile(r'_cancel\(task, "(\w+)"\)')
_LEVELS = {"warning": "WARN", "error": "ERROR", "exception": "ERROR", "info": "INFO"}
SOURCES = (
    *(ROOT / "src/cordwood/broker").rglob("*.py"),
    *(ROOT / "src/cordwood/node").rglob("*.py"),
    ROOT / "src/cordwood/cli/serve_run.py",
)


def rows() -> list[list[str]]:
    """Return the cells of the table of events."""
    table = PAGE.partition("## Read the log")[2].partition("## Size it")[0]
    return [line.split("|")[1:] for line in table.splitlines() if line.startswith("| `")]


def test_each_metric_on_the_page_is_in_the_catalogue() -> None:
    named = {*_METRIC.findall(PAGE)}

    assert named
    assert named <= {*CATALOGUE}


def test_each_event_on_the_page_is_logged_by_a_module() -> None:
    events = {event for cells in rows() for event in _EVENT.findall(cells[0])}
    source = "\n".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "src/cordwood").rglob("*.py")
    )

    assert len(events) >= len(rows()) > 0
    assert [event for event in sorted(events) if f'"{event}"' not in source] == []


def test_each_trouble_that_is_logged_is_on_the_page_with_its_level() -> None:
    levels = {event: cells[1] for cells in rows() for event in _EVENT.findall(cells[0])}
    logged = {
        (event, _LEVELS[level])
        for path in SOURCES
        for level, event in _LOGGED.findall(path.read_text(encoding="utf-8"))
        if level != "info" or event in levels
    }

    assert len(logged) > 10
    assert [each for each in sorted(logged) if each[1] not in levels.get(each[0], "")] == []


def test_each_reason_that_the_broker_closes_a_connection_for_is_on_the_page() -> None:
    server = (ROOT / "src/cordwood/broker/network/socket_server.py").read_text(encoding="utf-8")
    of_trouble = {*_ENDED.findall(server)} - {"idle", "stop"}

    assert of_trouble
    assert [each for each in sorted(of_trouble) if f"`{each}`" not in PAGE] == []
