"""Arguments of calls, as options of Spark."""

import json
from pathlib import Path

import pytest

from cordwood.core.errors import SettingError
from cordwood.spark.runtime.option_arguments import (
    job_options,
    option_text,
    path_list,
    spark_options,
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "value", "text"),
    (
        ("subscribe", "a,b", "a,b"),
        ("subscribe", ["a", "b"], "a,b"),
        ("columns", ("key", "value"), "key,value"),
        ("minPartitions", 4, "4"),
        ("includeHeaders", True, "true"),
        ("refillPath", Path("/more"), "/more"),
        ("assign", {"orders": [0, 1]}, '{"orders": [0, 1]}'),
        ("paths", ["a", "b"], '["a", "b"]'),
    ),
)
def test_value_becomes_the_text_of_the_option(name: str, value: object, text: str) -> None:
    assert option_text(name, value) == text


@pytest.mark.parametrize("value", (1.5, b"a", [1, 2], {"a"}))
def test_other_value_is_rejected(value: object) -> None:
    with pytest.raises(SettingError, match=r"subscribe: invalid value .*use a text, a number"):
        option_text("subscribe", value)


def test_paths_become_absolute(folder: Path) -> None:
    assert spark_options("logs", {}) == {"path": f"{folder}/logs"}
    assert spark_options(Path("logs"), {}) == {"path": f"{folder}/logs"}
    assert spark_options("file:/logs", {"columns": None}) == {"path": "/logs"}
    assert spark_options(None, {"Path": "logs"}) == {"Path": f"{folder}/logs"}
    assert json.loads(spark_options(["a", "/b"], {})["paths"]) == [f"{folder}/a", "/b"]
    assert path_list("a") == path_list(["a"]) == [f"{folder}/a"]


@pytest.mark.parametrize("name", ("path", "paths", "PATH"))
def test_path_is_given_once(name: str) -> None:
    with pytest.raises(SettingError, match=f"{name} is given twice; keep the argument"):
        spark_options("logs", {name: "logs"})


def test_job_has_its_options_by_name_or_in_a_mapping(folder: Path) -> None:
    wanted = {"path": f"{folder}/logs", "subscribe": "orders", "to": "lake"}
    mapping = {"path": "logs", "subscribe": "orders"}

    assert job_options("logs", {"subscribe": "orders"}, place=("to", "lake")) == wanted
    assert job_options(mapping, {}, place=("to", Path("lake"))) == wanted
    assert job_options(None, {}, options=mapping, place=("to", "lake")) == wanted
    assert job_options("lake", {}, options=mapping, place=("to", None)) == wanted
    assert job_options({**mapping, "to": "lake"}, {}, place=("to", None)) == wanted
    assert job_options("logs", {}) == {"path": f"{folder}/logs"}
