"""`cordwood spark compact` as it is called; `tests/spark` runs the job."""

import inspect
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from cordwood.cli.spark import compact
from cordwood.cli.spark.job_run import JobSession
from cordwood.compaction.cleaning_job import CleaningFailedError
from cordwood.spark import jobs
from cordwood.spark.jobs.compaction.compact_order import MEMORY_BYTES, WHOLE_BYTES, CompactJobOrder
from cordwood.workbench.compact import CompactReport
from tests.spark.keyed_logs import build_log
from tests.unit.cli.commands import run

COMPACTED = ("--config", "cleanup.policy=compact")
REPORT = CompactReport(
    path="/logs/t-0",
    partition="t-0",
    log_start=0,
    log_end=9,
    first_dirty=0,
    end=0,
    dirty_ratio=0.0,
    size=0,
    groups=(),
    held=(),
)


@contextmanager
def without_session(*_args: object, **_given: object) -> Iterator[JobSession]:
    yield JobSession(None, jobs.NO_PROGRESS)  # type: ignore[arg-type]  # the job is not run


class FakeJob:
    """A job that records its arguments and returns given failures."""

    def __init__(self, *failures: CleaningFailedError) -> None:
        self.failures = failures
        self.report = REPORT
        self.arguments: dict[str, object] = {}

    def compact(self, _spark: object, paths: object, **arguments: object) -> "FakeJob":
        self.arguments = {"paths": paths, **arguments}
        on_report = arguments["on_report"]
        assert callable(on_report)
        on_report(self.report)
        return self


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> FakeJob:
    """Return a fake job, installed in place of the real one."""
    found = FakeJob()
    monkeypatch.setattr(compact, "job_session", without_session)
    monkeypatch.setattr(jobs, "compact", found.compact)
    return found


def test_defaults_are_those_of_the_job() -> None:
    result = inspect.signature(compact.compact).parameters

    assert (result["memory"].default, result["whole_bytes"].default) == (MEMORY_BYTES, WHOLE_BYTES)


def test_compact_passes_its_options_on(
    job: FakeJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    command = ("spark", "compact", str(tmp_path), "--whole-bytes", "5", "--json", *COMPACTED)

    result = run(command, monkeypatch, capfd)

    order = job.arguments["order"]
    assert isinstance(order, CompactJobOrder)
    assert (result.code, json.loads(result.out)["partition"]) == (0, "t-0")
    assert (job.arguments["paths"], order.whole_bytes) == ([str(tmp_path)], 5)
    assert job.arguments["config"] == {"cleanup.policy": "compact"}


def test_compact_ends_with_1_when_a_log_fails(
    job: FakeJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    job.failures = (CleaningFailedError("/logs/t-1: is damaged"),)

    result = run(("spark", "compact", str(tmp_path), *COMPACTED), monkeypatch, capfd)

    assert result.code == 1
    assert "/logs/t-1: is damaged" in result.err


def test_compact_ends_with_1_when_an_erased_key_has_no_record(
    job: FakeJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    job.report = replace(REPORT, absent_keys=(b"a",))
    keys = tmp_path / "keys"
    keys.write_text("b\na\n")

    command = ("spark", "compact", str(tmp_path), "--erase-key", str(keys), *COMPACTED)
    result = run(command, monkeypatch, capfd)

    assert result.code == 1
    assert "has the key in line 2 of the keys to erase" in result.err


def test_dry_run_needs_no_spark_and_writes_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    build_log(tmp_path / "t-0", seed=1)
    names = sorted(path.name for path in (tmp_path / "t-0").iterdir())

    command = ("spark", "compact", str(tmp_path / "t-0"), "--dry-run", *COMPACTED)
    result = run(command, monkeypatch, capfd)

    assert result.code == 0
    assert "rewritten into one" in result.out
    assert sorted(path.name for path in (tmp_path / "t-0").iterdir()) == names
