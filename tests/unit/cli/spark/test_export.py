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


def test_export_passes_its_options_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    call: dict[str, object] = {}

    def exported(_spark: object, to: str, **given: object) -> _Export:
        call.update(given, to=to)
        return _Export()

    monkeypatch.setattr(export, "job_session", without_spark)
    monkeypatch.setattr(jobs, "export", exported)
    monkeypatch.chdir(tmp_path)
    arguments = (
        "logs",
        "--to",
        "lake",
        "--format",
        "delta",
        "--topic",
        "a",
        "--topic",
        "b",
        "--json",
    )
    result = run(("spark", "export", *arguments, "--option", "gap=record"), monkeypatch, capfd)

    assert (result.code, json.loads(result.out)) == (0, {"records": 7})
    assert call.pop("progress") is jobs.NO_PROGRESS
    assert call.pop("to") == str(tmp_path / "lake")
    assert call.pop("options") == {
        "format": "delta",
        "subscribe": "a,b",
        "gap": "record",
        "paths": json.dumps([str(tmp_path / "logs")]),
    }
