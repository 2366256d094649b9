"""The tree keeps its budgets; `scripts/tidy.py` holds them, and `test_gates.py` sees them bite."""

from pathlib import Path

from scripts import tidy


def test_tree_keeps_every_budget() -> None:
    found = tidy.check_tree(Path(__file__).parent.parent)

    assert not found, "\n" + "\n".join(map(str, found))
