"""Whose Python workers run."""

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import pytest

from cordwood.spark.workers import use_own_python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass
class Context:
    """What is asked of a session's context."""

    master: str = "local[2]"
    pythonExec: str = "python3"  # noqa: N815  # Spark's name


@dataclass
class Session:
    """A session that starts no JVM."""

    sparkContext: Context | None  # noqa: N815  # Spark's name


@pytest.fixture(autouse=True)
def _nobody_has_named_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)


def chosen(context: Context) -> str:
    use_own_python(cast("SparkSession", Session(context)))
    return context.pythonExec


def test_workers_on_this_machine_run_the_python_of_the_driver() -> None:
    assert chosen(Context()) == sys.executable


def test_workers_elsewhere_run_what_spark_chooses() -> None:
    assert chosen(Context(master="spark://spark:7077")) == "python3"


def test_python_that_somebody_has_chosen_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen(Context(pythonExec="/opt/python")) == "/opt/python"

    monkeypatch.setenv("PYSPARK_PYTHON", "python3")

    assert chosen(Context()) == "python3"


def test_client_of_a_server_has_no_workers_of_its_own() -> None:
    use_own_python(cast("SparkSession", Session(None)))
