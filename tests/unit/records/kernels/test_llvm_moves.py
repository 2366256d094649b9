"""Moves as LLVM's code: one for each twin, and steps of CRC-32C for each processor."""

import inspect

import numba
import numpy as np
import pytest

from cordwood.records.kernels import interpreted, intrinsics
from cordwood.records.kernels.kernel_definition import maker
from cordwood.records.kernels.llvm_moves import moves

SOURCE = np.frombuffer(bytes(range(200, 216)), np.uint8)
CRC = 0x9ABCDEF0


@pytest.mark.parametrize("processor", ("x86_64", "aarch64", ""))
def test_each_intrinsic_has_a_move_and_a_twin_of_its_name(processor: str) -> None:
    names = set(moves(processor))

    assert names <= vars(interpreted).keys()
    assert names <= vars(intrinsics).keys()
    assert len(names) == inspect.getsource(intrinsics).count("move(interpreted.")


@pytest.mark.skipif(maker is None, reason="the JIT is off")
@pytest.mark.parametrize("is_native", (True, False))
@pytest.mark.parametrize("name", ("crc_step_1", "crc_step_8"))
def test_step_of_a_checksum_equals_its_twin(name: str, *, is_native: bool) -> None:
    assert maker is not None
    step = maker.move(name) if is_native else moves("")[name]

    def stepped(crc: int, at: int) -> object:
        return step(crc, SOURCE, at)

    assert numba.njit(stepped)(CRC, 3) == getattr(interpreted, name)(CRC, SOURCE, 3)
