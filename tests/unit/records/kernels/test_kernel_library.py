"""The library of kernels: found, missing, damaged, or ignored."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from cordwood.records.kernels.kernel_library import are_interpreted, find_library

NAME = "library_of_a_test"


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    found = ModuleType(NAME)
    vars(found).update(
        KERNELS={"a.b": len}, LEVEL="x86-64-v2", HAS_CRC_INSTRUCTION=1, FINGERPRINT="f00d"
    )
    monkeypatch.setitem(sys.modules, NAME, found)
    monkeypatch.delenv("CORDWOOD_KERNELS", raising=False)
    return found


def test_library_is_found_with_its_kernels_and_level(module: ModuleType) -> None:
    library, fault = find_library(module.__name__)

    assert (library, fault) == (({"a.b": len}, "x86-64-v2", True, "f00d"), "")


def test_missing_library_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CORDWOOD_KERNELS", raising=False)

    found = find_library("cordwood.records.kernels.a_module_that_does_not_exist")

    assert found == (None, "this installation has no library of kernels")


def test_fault_of_a_damaged_library_has_its_file_and_the_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "damaged_library.abi3.so"
    file.write_bytes(b"not a library of this system")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("CORDWOOD_KERNELS", raising=False)

    library, fault = find_library("damaged_library")

    assert library is None
    assert str(file) in fault
    assert "does not load" in fault


def test_library_is_ignored_when_kernels_are_interpreted(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType
) -> None:
    monkeypatch.setenv("CORDWOOD_KERNELS", "interpreted")

    assert are_interpreted()
    assert find_library(module.__name__)[0] is None
