"""No mutant of the engine passes: a sample of them, drawn by a seed; all of them in a soak."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.mutations.equivalents import EQUIVALENT
from tests.mutations.mutants import mutants_of
from tests.mutations.run import MODULES, SOURCES

SOAK: Final = os.environ.get("CORDWOOD_SOAK") == "1"
SAMPLE: Final = () if SOAK else ("--sample", "60", "--seed", "1")


def test_every_equivalent_mutant_exists() -> None:
    known = {str(each) for name in MODULES for each in mutants_of(SOURCES, name)}

    assert set(EQUIVALENT) <= known


@pytest.mark.fuzz
@pytest.mark.timeout(7200 if SOAK else 300)
def test_no_mutant_passes() -> None:
    """In a process of its own, which forks one for each mutant: threads of tests would not do."""
    command = [sys.executable, "-m", "tests.mutations.run", *SAMPLE]

    run = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2]
    )

    assert run.returncode == 0, run.stdout + run.stderr
