"""Moves as LLVM's code: one for each twin, and steps of CRC-32C for each processor."""

import inspect
import os
import subprocess
import sys

import numpy as np
import pytest

from cordwood.records.kernels import interpreted, intrinsics
from native.fingerprint import ROOT

#: Prints the names of the moves, and a step of a checksum by its move. numba's settings are read
#: when it is imported, so this is a process of its own.
PROGRAM = """
import numba, numpy
from native.llvm_moves import moves
from native.targets import this_processor
source = numpy.frombuffer(bytes(range(200, 216)), numpy.uint8)
for processor in (this_processor(), ""):
    found = moves(processor)
    print(*sorted(found))
    for name in ("crc_step_1", "crc_step_8"):
        step = found[name]
        print(numba.njit(lambda crc, at: step(crc, source, at))(0x9ABCDEF0, 3))
"""


@pytest.fixture(scope="module")
def printed() -> list[str]:
    """Return the lines of the program, those of this processor first."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))},
    )
    return done.stdout.splitlines()


def test_each_intrinsic_has_a_move_and_a_twin_of_its_name(printed: list[str]) -> None:
    names = set(printed[0].split())

    assert names == set(printed[3].split())
    assert names <= vars(interpreted).keys()
    assert names <= vars(intrinsics).keys()
    assert len(names) == inspect.getsource(intrinsics).count("move(interpreted.")


def test_steps_of_a_checksum_equal_their_twins(printed: list[str]) -> None:
    """One pair is by the processor's instruction, the other one bit by bit."""
    source = np.frombuffer(bytes(range(200, 216)), np.uint8)
    steps = (interpreted.crc_step_1, interpreted.crc_step_8)

    expected = [str(step(0x9ABCDEF0, source, 3)) for step in steps]

    assert printed[1:3] == printed[4:6] == expected
