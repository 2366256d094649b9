"""The choice of an engine."""

import sys
from pathlib import Path
from subprocess import run

import pytest

from cordwood.compaction import kernels
from cordwood.compaction.engine import key_sketch
from cordwood.compaction.engine.plain_engine import PLAIN
from cordwood.records.kernels.kernel_library import LIBRARY

without_library = pytest.mark.skipif(
    LIBRARY is not None, reason="the library serves, not the cache"
)


@pytest.fixture
def cold(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Caches in which nothing has been compiled."""
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    monkeypatch.setenv("CORDWOOD_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


@without_library
@pytest.mark.usefixtures("cold")
def test_engine_is_plain_when_kernels_are_not_compiled() -> None:
    assert kernels.engine(1 << 40) is PLAIN


def test_engine_is_plain_where_loading_numba_does_not_pay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "cordwood.compaction.kernels.kernel_engine", raising=False)

    assert kernels.engine(kernels.PAYS_FROM - 1) is PLAIN


def test_engine_is_chosen_without_importing_numba() -> None:
    code = "import sys; from cordwood.compaction import kernels; print('numba' in sys.modules)"

    said = run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout

    assert said == "False\n"


def test_parts_are_compiled_by_two_processes() -> None:
    own, others = kernels.PARTS

    assert not set(own) & set(others)


@without_library
@pytest.mark.usefixtures("cold")
def test_key_adder_is_plain_when_kernels_are_not_compiled() -> None:
    assert kernels.key_adder() is key_sketch.add_keys
