"""Which decoder is offered, and how the kernels are compiled before anybody needs them."""

from pathlib import Path

import pytest

from cordwood.core.errors import KafkaStorageError
from cordwood.records import kernels
from cordwood.records.chunk import Request
from cordwood.records.inspect import PlainInspector
from cordwood.records.kernels import cache
from cordwood.records.kernels.inspect import KernelInspector
from cordwood.records.kernels.kernel_decoder import KernelDecoder
from cordwood.records.kernels.sweep import KernelSweeper
from cordwood.records.plain import PlainDecoder
from cordwood.records.sweep import PlainSweeper


@pytest.fixture
def cold(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Caches in which nothing has been compiled; returns the first of them."""
    (tmp_path / "spare").mkdir()
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    monkeypatch.setenv("CORDWOOD_CACHE_DIR", str(tmp_path / "own"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "spare"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "spare"))
    return tmp_path / "own"


def break_numba(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let a child process find a numba that cannot be imported."""
    folder.mkdir()
    (folder / "numba.py").write_text("raise ImportError('a broken numba')\n", encoding="utf-8")
    monkeypatch.syspath_prepend(folder)


def test_decoder_is_plain_when_nothing_is_compiled(cold: Path) -> None:
    assert not kernels.is_warm()
    assert isinstance(kernels.decoder(), PlainDecoder)
    assert isinstance(kernels.inspector(), PlainInspector)
    assert isinstance(kernels.sweeper(), PlainSweeper)


def test_decoder_is_fast_when_all_is_compiled(cold: Path) -> None:
    place = cache.folder()

    cache.mark_ready(place)

    assert place.is_relative_to(cold)
    assert kernels.is_warm()
    assert isinstance(kernels.decoder(), KernelDecoder)
    assert isinstance(kernels.inspector(), KernelInspector)
    assert isinstance(kernels.sweeper(), KernelSweeper)


@pytest.mark.parametrize(("setting", "is_warm"), (("1", True), ("0", False), ("", False)))
def test_kernels_need_no_compiler_when_the_jit_is_off(
    monkeypatch: pytest.MonkeyPatch, cold: Path, setting: str, *, is_warm: bool
) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", setting)

    assert kernels.is_warm() is is_warm


def test_warm_says_nothing_when_all_is_compiled(cold: Path) -> None:
    said: list[str] = []
    cache.mark_ready(cache.folder())

    kernels.warm(said.append)

    assert said == []


def test_warm_compiles_the_kernels_once(cold: Path) -> None:
    said: list[str] = []

    kernels.warm(said.append)
    kernels.warm(said.append)

    (line,) = said
    assert f"compiling kernels once into {cache.folder()}" in line
    assert kernels.is_warm()
    assert list(kernels.decoder().decode(b"", Request())) == []
    assert any(cache.folder().rglob("fill.fill-*.nbc"))
    assert any(cache.folder().rglob("inspect.read_through-*.nbc"))


def test_warm_raises_when_the_compiler_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cold: Path
) -> None:
    said: list[str] = []
    break_numba(monkeypatch, tmp_path / "modules")

    with pytest.raises(KafkaStorageError, match="a broken numba"):
        kernels.warm(said.append)

    assert len(said) == 1
    assert not kernels.is_warm()


def test_warm_warns_when_the_folder_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cold: Path
) -> None:
    said: list[str] = []
    cold.write_bytes(b"a file, not a folder")
    break_numba(monkeypatch, tmp_path / "modules")

    with pytest.raises(KafkaStorageError):
        kernels.warm(said.append)

    warning, progress = said
    assert f"cannot write to {cold}" in warning
    assert "CORDWOOD_CACHE_DIR" in warning
    assert str(tmp_path / "spare") in warning
    assert str(tmp_path / "spare") in progress


def test_kernels_give_the_fast_decoder_by_its_name() -> None:
    assert kernels.KernelDecoder is KernelDecoder


def test_kernels_have_no_other_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'SlowDecoder'"):
        kernels.SlowDecoder  # noqa: B018  # the access is what is tested
