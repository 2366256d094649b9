"""The choice of an engine."""

import sys
from subprocess import run

import pytest

from cordwood.compaction import kernels
from cordwood.compaction.engine import key_sketch
from cordwood.compaction.engine.plain_engine import PLAIN
from cordwood.records import kernels as records_kernels
from cordwood.records.kernels.kernel_library import LIBRARY


@pytest.fixture
def _without_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the library, as on a platform that has none."""
    monkeypatch.setattr(records_kernels, "LIBRARY", None)


@pytest.mark.usefixtures("_without_library")
def test_plain_twins_are_used_without_a_library() -> None:
    assert kernels.engine(1 << 40) is PLAIN
    assert kernels.key_adder() is key_sketch.add_keys


@pytest.mark.skipif(LIBRARY is None, reason="there is no library of kernels")
def test_fast_twins_are_used_with_the_library() -> None:
    assert kernels.engine(1 << 40) is not PLAIN
    assert kernels.key_adder() is not key_sketch.add_keys


def test_engine_is_plain_where_loading_kernels_does_not_pay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "cordwood.compaction.kernels.kernel_engine", raising=False)

    assert kernels.engine(kernels.PAYS_FROM - 1) is PLAIN


def test_engine_is_chosen_without_importing_numpy() -> None:
    code = "import sys; from cordwood.compaction import kernels; print('numpy' in sys.modules)"

    said = run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout

    assert said == "False\n"


def test_parts_are_compiled_by_two_processes() -> None:
    own, others = kernels.PARTS

    assert not set(own) & set(others)
