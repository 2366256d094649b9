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

    def exported(_spark: object, options: object, **given: object) -> _Export:
        call.update(given, options=options)
        return _Export()

    monkeypatch.setattr(export, "job_session", without_spark)
    monkeypatch.setattr(export, "check_source", lambda _options: None)
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
    assert call.pop("options") == {
        "to": str(tmp_path / "lake"),
        "format": "delta",
        "subscribe": "a,b",
        "gap": "record",
        "paths": json.dumps([str(tmp_path / "logs")]),
    }


@pytest.mark.parametrize(
    ("arguments", "words"),
    (
        ((), "Iceberg needs NAMESPACE.NAME (it is not set)"),
        (("--table", "orders"), "Iceberg needs NAMESPACE.NAME (found 'orders')"),
        (("--table", "a.b", "--option", "subscrib=x"), "did you mean subscribe?"),
    ),
)
@pytest.mark.parametrize(("command", "folder"), (("export", "--to"), ("audit", "--of")))
def test_unusable_options_are_an_error_before_spark_starts(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    command: str,
    folder: str,
    arguments: tuple[str, ...],
    words: str,
) -> None:
    monkeypatch.setattr(f"cordwood.cli.spark.{command}.job_session", None)

    given = ("spark", command, "logs", folder, "lake", "--format", "iceberg", *arguments)
    result = run(given, monkeypatch, capfd)

    assert (result.code, result.out) == (2, "")
    assert words in result.err
    assert len(result.err.splitlines()) == 1


@pytest.mark.parametrize(
    "words",
    (
        ("export", "--to", "lake"),
        ("audit", "--of", "lake"),
        ("replay", "--topic", "orders", "--to", "copies"),
    ),
    ids=lambda words: words[0],
)
def test_missing_source_is_an_error_before_spark_starts(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    command, *options = words
    monkeypatch.setattr(f"cordwood.cli.spark.{command}.job_session", None)

    result = run(("spark", command, "/absent", *options), monkeypatch, capfd)

    assert (result.code, result.out) == (3, "")
    assert result.err.startswith("cordwood: /absent: does not exist")
