"""`cordwood spark export` as it is called; `tests/spark` runs it."""

import json
from pathlib import Path

import pytest

from cordwood.cli.spark import export
from cordwood.spark import jobs
from tests.unit.cli.commands import run
from tests.unit.cli.spark.test_verify import without_spark


class _Export:
    def to_json(self) -> str:
        return json.dumps({"records": 7})


def test_export_passes_on_what_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    asked: dict[str, object] = {}

    def exported(_spark: object, to: str, **given: object) -> _Export:
        asked.update(given, to=to)
        return _Export()

    monkeypatch.setattr(export, "running", without_spark)
    monkeypatch.setattr(jobs, "export", exported)
    monkeypatch.chdir(tmp_path)
    words = ("logs", "--to", "lake", "--format", "delta", "--topic", "a", "--topic", "b", "--json")
    said = run(("spark", "export", *words, "--option", "gap=record"), monkeypatch, capfd)

    assert (said.code, json.loads(said.out)) == (0, {"records": 7})
    assert asked.pop("progress") is jobs.UNSEEN
    assert asked.pop("to") == str(tmp_path / "lake")
    assert asked.pop("options") == {
        "format": "delta",
        "subscribe": "a,b",
        "gap": "record",
        "paths": json.dumps([str(tmp_path / "logs")]),
    }
