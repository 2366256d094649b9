"""The Python of workers."""

import os
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import pytest

from cordwood.spark.runtime.worker_python import WORKER_SITE, use_own_python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass
class Context:
    """The used part of a SparkContext."""

    master: str = "local[2]"
    pythonExec: str = "python3"  # noqa: N815  # Spark's name
    environment: dict[str, str] = field(default_factory=dict)


@dataclass
class Session:
    """A session without a JVM."""

    sparkContext: Context | None  # noqa: N815  # Spark's name


@pytest.fixture(autouse=True)
def _without_pyspark_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)


def chosen(context: Context) -> str:
    use_own_python(cast("SparkSession", Session(context)))
    return context.pythonExec


def test_workers_on_this_machine_run_the_python_of_the_driver() -> None:
    assert chosen(Context()) == sys.executable


def test_workers_on_other_machines_run_the_default_of_spark() -> None:
    assert chosen(Context(master="spark://spark:7077")) == "python3"


def test_configured_python_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen(Context(pythonExec="/opt/python")) == "/opt/python"

    monkeypatch.setenv("PYSPARK_PYTHON", "python3")

    assert chosen(Context()) == "python3"


def test_session_of_spark_connect_has_no_context_to_change() -> None:
    use_own_python(cast("SparkSession", Session(None)))


@pytest.mark.parametrize(
    ("before", "after"),
    (({}, WORKER_SITE), ({"PYTHONPATH": "/shop"}, os.pathsep.join((WORKER_SITE, "/shop")))),
)
def test_processes_on_this_machine_import_pyspark_from_its_package(
    before: dict[str, str], after: str
) -> None:
    context = Context(environment={**before})

    chosen(context)
    chosen(context)

    assert context.environment["PYTHONPATH"] == after


def test_processes_on_other_machines_have_their_own_path() -> None:
    context = Context(master="spark://spark:7077")

    chosen(context)

    assert context.environment == {}
