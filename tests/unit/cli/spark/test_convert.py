"""`cordwood spark convert` as it is called; `tests/spark` runs it."""

from dataclasses import replace
from pathlib import Path

import pytest

from cordwood.cli.spark import convert
from cordwood.spark import jobs
from cordwood.workbench.convert.convert import ConvertReport
from tests.unit.cli.commands import run
from tests.unit.cli.spark.test_verify import without_spark

REPORT = ConvertReport(path="/new", partitions=("t-0",), segments=2, size_before=2_000, size=900)


def test_convert_prints_its_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    calls: list[dict[str, object]] = []

    def converted(*_args: object, **given: object) -> ConvertReport:
        calls.append(given)
        return REPORT

    monkeypatch.setattr(convert, "job_session", without_spark)
    monkeypatch.setattr(jobs, "convert", converted)
    out = str(tmp_path / "new")

    result = run(
        ("spark", "convert", str(tmp_path), "--out", out, "--codec", "zstd"), monkeypatch, capfd
    )

    assert (result.code, result.out) == (0, "/new: t-0: 2 segments, 2,000 bytes converted to 900\n")
    assert (calls[0]["out"], calls[0]["codec"], calls[0]["message_format"]) == (out, "zstd", "v2")


def test_convert_of_a_log_that_lacks_offsets_exits_with_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    report = replace(REPORT, missing={"t-0": ((3, 6),)})
    monkeypatch.setattr(convert, "job_session", without_spark)
    monkeypatch.setattr(jobs, "convert", lambda *_args, **_given: report)

    result = run(("spark", "convert", str(tmp_path), "--out", "new"), monkeypatch, capfd)

    assert (result.code, result.out.splitlines()[1:]) == (
        1,
        ["/new: t-0: missing: offsets 3 to 5, not removed by a cleaner"],
    )


def test_convert_rejects_unknown_formats(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments = ("spark", "convert", "logs", "--out", "new", "--format", "v0")

    result = run(arguments, monkeypatch, capfd)

    assert (result.code, "'v0' is not one of" in result.err) == (2, True)


@pytest.mark.parametrize("command", (("verify",), ("compact",), ("convert", "--out", "new")))
def test_missing_path_is_an_error_before_spark_starts(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    monkeypatch.setattr(f"cordwood.cli.spark.{command[0]}.job_session", None)

    result = run(("spark", *command, "/absent"), monkeypatch, capfd)

    assert (result.code, result.out) == (3, "")
    assert result.err == "cordwood: No such file or directory: /absent; check the path\n"
