"""The library of kernels: found, missing, damaged, or ignored."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from cordwood.core.errors import KernelLibraryError
from cordwood.records.kernels import kernel_library
from cordwood.records.kernels.kernel_library import (
    PATH,
    CutLibraryError,
    are_interpreted,
    ensure_not_cut,
    ensure_whole,
    find_library,
    library_error,
)

NAME = "library_of_a_test"
SIZE = 1_000


def header(*, magic: bytes = b"\x7fELF\x02\x01") -> bytes:
    """Return a header whose section table has 3 entries of 64 bytes, and ends at SIZE."""
    start = bytearray(64)
    start[: len(magic)] = magic
    start[40:48] = (SIZE - 3 * 64).to_bytes(8, "little")
    start[58:62] = b"\x40\x00\x03\x00"
    return bytes(start)


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    found = ModuleType(NAME)
    vars(found).update(
        KERNELS={"a.b": len}, LEVEL="x86-64-v2", HAS_CRC_INSTRUCTION=1, FINGERPRINT="f00d"
    )
    monkeypatch.setitem(sys.modules, NAME, found)
    monkeypatch.delenv("CORDWOOD_KERNELS", raising=False)
    return found


def test_library_is_found_with_its_kernels_and_level(module: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "whole_library.abi3.so"
    file.write_bytes(header().ljust(SIZE, b"\0"))

    found = find_library(module.__name__, str(file))

    assert found == (({"a.b": len}, "x86-64-v2", True, "f00d"), "", False)


def test_missing_library_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CORDWOOD_KERNELS", raising=False)

    found = find_library("cordwood.records.kernels.a_module_that_does_not_exist")

    assert found == (None, "this installation has no library of kernels", False)


def test_fault_of_a_damaged_library_has_its_file_and_the_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "damaged_library.abi3.so"
    file.write_bytes(b"not a library of this system")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("CORDWOOD_KERNELS", raising=False)

    library, fault, is_cut = find_library("damaged_library", str(file))

    assert (library, is_cut) == (None, False)
    assert str(file) in fault
    assert "does not load" in fault


def test_library_that_was_cut_is_not_loaded(module: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "cut_library.abi3.so"
    file.write_bytes(header())

    found = find_library(module.__name__, str(file))

    assert found == (None, "the library of kernels was cut (64 of at least 1,000 bytes)", True)


def test_error_of_a_library_has_its_file_and_the_remedy() -> None:
    error = library_error("it is of oak")

    assert str(error).startswith(f"{PATH}: it is of oak; in a checkout run make kernels, else ")
    assert error.remedy.endswith("pip install --force-reinstall --no-deps cordwood")


def test_error_of_a_library_in_a_zip_has_one_more_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_library, "PATH", "./c.zip/cordwood/_machine.abi3.so")

    assert library_error("it is of oak").remedy.endswith("; then make the zip again")


def test_library_that_was_cut_raises_at_each_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_library, "IS_CUT", True)
    monkeypatch.setattr(kernel_library, "FAULT", "it was cut")

    with pytest.raises(KernelLibraryError, match=": it was cut; in a checkout"):
        ensure_not_cut()


def test_library_is_ignored_when_kernels_are_interpreted(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType
) -> None:
    monkeypatch.setenv("CORDWOOD_KERNELS", "interpreted")

    assert are_interpreted()
    assert find_library(module.__name__)[0] is None


@pytest.mark.parametrize("size", (SIZE, SIZE + 1))
def test_library_with_its_section_table_is_whole(size: int) -> None:
    ensure_whole(header(), size)


@pytest.mark.parametrize("size", (SIZE - 1, 64))
def test_library_that_ends_before_its_section_table_was_cut(size: int) -> None:
    with pytest.raises(CutLibraryError, match=rf"was cut \({size} of at least 1,000 bytes\)"):
        ensure_whole(header(), size)


@pytest.mark.parametrize("size", (0, 3, 63))
def test_library_that_ends_in_its_header_was_cut(size: int) -> None:
    with pytest.raises(CutLibraryError, match=rf"was cut \({size} of at least 64 bytes\)"):
        ensure_whole(header()[:size], size)


def test_library_without_a_section_table_is_whole() -> None:
    ensure_whole(b"\x7fELF\x02\x01".ljust(64, b"\0"), 64)


@pytest.mark.parametrize("magic", (b"\xcf\xfa\xed\xfe", b"\x7fELF\x01\x01", b"\x7fELF\x02\x02"))
def test_library_of_another_system_is_left_to_the_linker(magic: bytes) -> None:
    ensure_whole(header(magic=magic), 64)
    ensure_whole(magic, len(magic))
