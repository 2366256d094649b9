"""The library of kernels: found, missing, or ignored."""

import sys
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
    assert find_library(module.__name__) == ({"a.b": len}, "x86-64-v2", True, "f00d")


def test_missing_library_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CORDWOOD_KERNELS", raising=False)

    assert find_library("cordwood.records.kernels.a_module_that_does_not_exist") is None


def test_library_is_ignored_when_kernels_are_interpreted(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType
) -> None:
    monkeypatch.setenv("CORDWOOD_KERNELS", "interpreted")

    assert are_interpreted()
    assert find_library(module.__name__) is None
