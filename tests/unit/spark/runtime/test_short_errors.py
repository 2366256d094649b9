"""Errors without a traceback, in processes of Spark."""

import os
import sys
from types import SimpleNamespace

import pytest

from cordwood.core.errors import SettingError
from cordwood.spark.runtime.short_errors import HIDE_TRACEBACK, is_worker, short_errors


@pytest.fixture(autouse=True)
def _no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HIDE_TRACEBACK, "")


def _main(monkeypatch: pytest.MonkeyPatch, name: str | None) -> None:
    spec = None if name is None else SimpleNamespace(name=name)
    monkeypatch.setitem(sys.modules, "__main__", SimpleNamespace(__spec__=spec))


def _fail(error: Exception) -> None:
    with pytest.raises(type(error)), short_errors():
        raise error


@pytest.mark.parametrize("name", ("pyspark.daemon", "pyspark.worker"))
def test_process_of_spark_reports_our_error_without_its_traceback(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    _main(monkeypatch, name)

    _fail(SettingError("wrong", key="path", remedy="other"))

    assert os.environ[HIDE_TRACEBACK]


def test_other_errors_keep_their_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    _main(monkeypatch, "pyspark.daemon")

    _fail(ZeroDivisionError())

    assert not os.environ[HIDE_TRACEBACK]


@pytest.mark.parametrize("name", (None, "pytest.__main__", "pyspark_cordwood"))
def test_other_processes_keep_tracebacks(monkeypatch: pytest.MonkeyPatch, name: str | None) -> None:
    _main(monkeypatch, name)

    _fail(SettingError("wrong", key="path", remedy="other"))

    assert not is_worker()
    assert not os.environ[HIDE_TRACEBACK]
