"""What a kernel is: compiled once, into the cache, or the plain function it was written as."""

import os
from pathlib import Path

import numba
import numpy as np
import pytest

from cordwood.records.kernels import cache
from cordwood.records.kernels.door import (
    INT,
    IS_COMPILED,
    WORDS,
    Words,
    inlined,
    kernel,
    several,
    spliced,
)


@inlined
def doubled(value: int) -> int:
    return 2 * value


@spliced
def tripled(value: int) -> int:
    return doubled(value) + value


def sum_and_double(words: Words, more: int) -> tuple[int, int]:
    total = more
    for word in words:
        total += word
    return total, doubled(total)


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("CORDWOOD_CACHE_DIR", str(tmp_path))
    return cache.folder()


def test_door_compiles_unless_the_jit_is_off() -> None:
    assert IS_COMPILED is (os.environ.get("NUMBA_DISABLE_JIT", "0") in {"", "0"})


def test_kernel_does_what_its_function_does(place: Path) -> None:
    compiled = kernel(several(2), WORDS, INT)(sum_and_double)

    assert compiled(np.array([1, 2, 3], np.int64), 4) == (10, 20)


def test_kernel_is_kept_in_the_cache_when_it_is_compiled(place: Path) -> None:
    kernel(several(2), WORDS, INT)(sum_and_double)

    assert any(place.rglob("*.nbc")) is IS_COMPILED


def test_kernel_leaves_other_peoples_cache_where_it_is(place: Path) -> None:
    before = numba.config.CACHE_DIR

    kernel(several(2), WORDS, INT)(sum_and_double)

    assert before == numba.config.CACHE_DIR
    assert before != str(place)


def test_function_stays_as_it_was_written_when_the_jit_is_off() -> None:
    made = [make(sum_and_double) for make in (inlined, spliced)]

    assert [one is sum_and_double for one in made] == [not IS_COMPILED] * 2


def test_inlined_does_what_its_function_does() -> None:
    assert doubled(21) == 42
    assert tripled(14) == 42
