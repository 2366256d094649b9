"""The tree keeps its budgets; `scripts/tidy.py` holds them, and `test_gates.py` sees them bite."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.timeout(300)
def test_tree_keeps_every_budget() -> None:
    """A process of its own: after a deep recursion CPython 3.11 may refuse to parse in this one."""
    root = Path(__file__).parent.parent

    done = subprocess.run(
        [sys.executable, "-m", "scripts.tidy"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout + done.stderr) == (0, "")
