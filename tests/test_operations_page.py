"""docs/operations.md names metrics and log events that exist."""

import re
from pathlib import Path

from cordwood.observability.catalogue import CATALOGUE

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
_METRIC = re.compile(r"`(cordwood_\w+)`")
_EVENT = re.compile(r"`([a-zA-Z]+(?: [a-z]+)+)`")


def test_each_metric_on_the_page_is_in_the_catalogue() -> None:
    named = {*_METRIC.findall(PAGE)}

    assert named
    assert named <= {*CATALOGUE}


def test_each_event_on_the_page_is_logged_by_a_module() -> None:
    table = PAGE.partition("## Read the log")[2].partition("## Size it")[0]
    first_cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    events = {event for cell in first_cells for event in _EVENT.findall(cell)}
    source = "\n".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "src/cordwood").rglob("*.py")
    )

    assert len(events) >= len(first_cells) > 0
    assert [event for event in sorted(events) if f'"{event}"' not in source] == []
