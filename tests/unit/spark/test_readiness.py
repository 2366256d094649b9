"""Tasks wait for kernels, or say why they do without them."""

from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest

from cordwood.core.errors import KafkaStorageError
from cordwood.records import kernels
from cordwood.spark import readiness

Said = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _asked_anew() -> Iterator[None]:
    readiness.make_ready.cache_clear()
    yield
    readiness.make_ready.cache_clear()


@pytest.fixture
def cold(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Nothing is compiled; the list has as many numbers as it is compiled."""
    calls: list[int] = []

    def warm(say: Callable[[str], object]) -> None:
        calls.append(1)
        say("compiling")

    monkeypatch.setattr(kernels, "is_warm", lambda: False)
    monkeypatch.setattr(kernels, "warm", warm)
    return calls


def test_kernels_are_compiled_once_when_they_are_cold(cold: list[int], capsys: Said) -> None:
    readiness.make_ready()
    readiness.make_ready()

    assert cold == [1]
    assert capsys.readouterr().err == "compiling\n"


def test_memory_of_arrow_is_the_systems(cold: list[int]) -> None:
    pool = pa.default_memory_pool()
    try:
        readiness.make_ready()

        assert pa.default_memory_pool().backend_name == "system"
    finally:
        pa.set_memory_pool(pool)


def test_nothing_is_compiled_when_kernels_are_warm(
    cold: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "is_warm", lambda: True)

    readiness.make_ready()

    assert not cold


def test_task_says_so_when_kernels_cannot_be_compiled(
    cold: list[int], monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    def warm(_: object) -> None:
        raise KafkaStorageError("no room")

    monkeypatch.setattr(kernels, "warm", warm)

    readiness.make_ready()

    assert "no room" in capsys.readouterr().err


def test_task_says_so_when_the_package_is_in_a_zip(
    cold: list[int], monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    monkeypatch.setattr(readiness, "packages", list)

    readiness.make_ready()

    assert "--archives" in capsys.readouterr().err
    assert not cold
