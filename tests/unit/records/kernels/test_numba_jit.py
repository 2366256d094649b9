"""The maker: each kernel is compiled once, into the cache."""

from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core.event import install_recorder

from cordwood.records.kernels import kernel_cache
from cordwood.records.kernels.kernel_definition import (
    INT,
    IS_COMPILED,
    SOURCE,
    WORDS,
    Kind,
    Words,
    inlined,
    kernel,
    several,
    spliced,
    together,
)
from cordwood.records.kernels.kernel_library import LIBRARY
from cordwood.records.kernels.numba_jit import JitMaker, find_maker, numba_type


@inlined
def doubled(value: int) -> int:
    return 2 * value


@spliced
def tripled(value: int) -> int:
    return doubled(value) + value


def tripled_plainly(value: int) -> int:
    return 3 * value


def sum_and_double(words: Words, more: int) -> tuple[int, int]:
    total = more
    for word in words:
        total += word
    return total, doubled(total)


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("CORDWOOD_CACHE_DIR", str(tmp_path))
    return kernel_cache.folder()


pytestmark = pytest.mark.skipif(LIBRARY is not None, reason="the library serves, not the cache")
compiled_only = pytest.mark.skipif(not IS_COMPILED, reason="the JIT is off")


def test_maker_exists_unless_the_jit_is_off() -> None:
    assert (find_maker() is None) is bool(numba.config.DISABLE_JIT)


@pytest.mark.parametrize(
    ("kind", "expected"), ((INT, "int64"), (together(SOURCE, 2), "UniTuple"), (several(3), "x 3"))
)
def test_kind_has_a_type_of_numba(kind: Kind, expected: str) -> None:
    assert expected in str(numba_type(kind))


@pytest.mark.parametrize(
    ("processor", "has_instruction"), (("x86_64", True), ("aarch64", True), ("", False))
)
def test_maker_has_the_instruction_of_its_processor(
    processor: str, *, has_instruction: bool
) -> None:
    assert JitMaker(processor).has_crc_instruction is has_instruction


def test_kernel_returns_the_same_as_its_function(place: Path) -> None:
    compiled = kernel(several(2), WORDS, INT)(sum_and_double)

    assert compiled(np.array([1, 2, 3], np.int64), 4) == (10, 20)


def test_compiled_kernel_is_cached(place: Path) -> None:
    kernel(several(2), WORDS, INT)(sum_and_double)

    assert any(place.rglob("*.nbc")) is IS_COMPILED


def test_kernel_does_not_change_the_cache_folder_of_numba(place: Path) -> None:
    before = numba.config.CACHE_DIR

    kernel(several(2), WORDS, INT)(sum_and_double)

    assert before == numba.config.CACHE_DIR
    assert before != str(place)


@compiled_only
def test_kernel_is_cached_in_one_folder_under_any_numba_setting(
    monkeypatch: pytest.MonkeyPatch, place: Path
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_LOCATOR_CLASSES", "InTreeCacheLocator", raising=False)

    kernel(several(2), WORDS, INT)(sum_and_double)

    assert {path.suffix for path in place.iterdir()} == {".nbi", ".nbc"}


@compiled_only
def test_kernel_is_not_compiled_when_it_is_to_be_loaded(place: Path) -> None:
    with kernel_cache.generation(place) as made:
        (made / "another.1.nbc").write_bytes(b"machine code")

    with kernel_cache.loading(place), pytest.raises(kernel_cache.ColdError, match="sum_and_double"):
        kernel(several(2), WORDS, INT)(sum_and_double)


@compiled_only
def test_kernel_is_loaded_when_it_has_been_compiled(place: Path) -> None:
    with kernel_cache.generation(place) as made, kernel_cache.compiling(made):
        kernel(several(2), WORDS, INT)(sum_and_double)

    with kernel_cache.loading(place), install_recorder("numba:compile") as seen:
        loaded = kernel(several(2), WORDS, INT)(sum_and_double)

    assert loaded(np.array([1, 2, 3], np.int64), 4) == (10, 20)
    assert not seen.buffer


@compiled_only
@pytest.mark.parametrize("suffix", (".nbi", ".nbc"))
@pytest.mark.parametrize("torn", (b"", b"garbage", b"\x80\x04\x8c\x01\xff.", bytes(100)))
def test_kernel_is_compiled_again_when_its_files_are_torn(
    place: Path, suffix: str, torn: bytes
) -> None:
    kernel(INT, INT)(tripled_plainly)
    (kept,) = place.glob(f"*{suffix}")

    kept.write_bytes(torn)

    assert kernel(INT, INT)(tripled_plainly)(14) == 42
    with install_recorder("numba:compile") as seen:
        kernel(INT, INT)(tripled_plainly)
    assert not seen.buffer


@compiled_only
def test_kernel_in_the_spare_folder_is_private(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("CORDWOOD_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    kernel(INT, INT)(tripled_plainly)

    assert kernel_cache.folder().is_relative_to(kernel_cache.spare_folder())
    assert kernel_cache.spare_folder().stat().st_mode & 0o777 == 0o700


@compiled_only
def test_kernel_is_compiled_for_one_process_when_no_folder_is_writable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("CORDWOOD_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "file"))

    assert kernel(INT, INT)(tripled_plainly)(14) == 42


def test_inlined_returns_the_same_as_its_function() -> None:
    assert doubled(21) == 42
    assert tripled(14) == 42


@compiled_only
def test_inlined_function_is_compiled_once_for_all_constants() -> None:
    def shifted(value: int, by: int) -> int:
        return value << by

    part = inlined(shifted)

    def twice(value: int) -> int:
        return part(value, 1) + part(0, 2) + part(value, value)

    with install_recorder("numba:compile") as seen:
        found = numba.njit(twice)(3)

    assert found == 30
    assert [str(event.data["args"]) for _, event in seen.buffer if event.is_end].count(
        "(int64, int64)"
    ) == 1
