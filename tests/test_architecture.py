"""The import graph is the architecture: `pyproject.toml` holds the contracts, this runs them."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_import_graph_keeps_every_contract() -> None:
    command = Path(sys.executable).parent / "lint-imports"

    done = subprocess.run(
        [command, "--no-cache", "--no-logo"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
