"""Registration of the source with a session."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from cordwood.spark.data_source import CordwoodSource
from cordwood.spark.registration import register_source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


class Session(SimpleNamespace):
    """A session with the registry of a JVM, which has found `found`."""

    __hash__ = object.__hash__  # type: ignore[assignment]  # that of a session


def _session(registered: list[object], *, found: tuple[str, ...] | None) -> "SparkSession":
    session = Session(sparkContext=None, dataSource=SimpleNamespace(register=registered.append))
    if found is not None:
        manager = SimpleNamespace(dataSourceExists=found.__contains__)
        state = SimpleNamespace(dataSourceManager=lambda: manager)
        vars(session)["_jsparkSession"] = SimpleNamespace(sessionState=lambda: state)
    return cast("SparkSession", session)


@pytest.fixture
def python(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Let Spark look for data sources in this Python."""
    monkeypatch.delenv("PYSPARK_DRIVER_PYTHON", raising=False)
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    return monkeypatch


def test_source_that_spark_has_found_is_not_registered(python: pytest.MonkeyPatch) -> None:
    """Spark would warn of a source that is replaced."""
    registered: list[object] = []

    register_source(_session(registered, found=("cordwood",)))

    assert registered == []


def test_source_that_another_python_has_found_is_replaced(
    python: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = tmp_path / "python3"
    other.touch(0o755)
    python.setenv("PYSPARK_PYTHON", str(other))
    registered: list[object] = []

    register_source(_session(registered, found=("cordwood",)))

    assert registered == [CordwoodSource]


@pytest.mark.parametrize("found", (None, ()))
def test_source_is_registered_once_for_a_session(
    python: pytest.MonkeyPatch, found: tuple[str, ...] | None
) -> None:
    """A session of Spark Connect does not show what its server has found."""
    registered: list[object] = []
    session = _session(registered, found=found)

    register_source(session)
    register_source(session)

    assert registered == [CordwoodSource]


def test_package_that_spark_looks_for_has_the_source() -> None:
    import pyspark_cordwood  # noqa: PLC0415  # as Spark does

    assert pyspark_cordwood.DefaultSource is CordwoodSource
    assert CordwoodSource.name() == "cordwood"
