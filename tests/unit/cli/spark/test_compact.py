"""`cordwood spark compact` as it is called; `tests/spark` runs the job."""

import inspect
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cordwood.cli.spark import compact
from cordwood.cli.spark.running import Running
from cordwood.compaction.job import CleaningFailedError
from cordwood.spark import jobs
from cordwood.spark.jobs.compact_order import MEMORY_BYTES, WHOLE_BYTES, CompactJobOrder
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
def in_nothing(*_said: object, **_given: object) -> Iterator[Running]:
    yield Running(None, jobs.UNSEEN)  # type: ignore[arg-type]  # no session is asked for anything


class Done:
    """What a job has come to, and what it was asked for."""

    def __init__(self, *failures: CleaningFailedError) -> None:
        self.failures = failures
        self.asked: dict[str, object] = {}

    def compact(self, _spark: object, paths: object, **asked: object) -> "Done":
        self.asked = {"paths": paths, **asked}
        hear = asked["hear"]
        assert callable(hear)
        hear(REPORT)
        return self


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> Done:
    """A job that is not run."""
    found = Done()
    monkeypatch.setattr(compact, "running", in_nothing)
    monkeypatch.setattr(jobs, "compact", found.compact)
    return found


def test_what_is_not_said_is_what_the_job_takes() -> None:
    said = inspect.signature(compact.compact).parameters

    assert (said["memory"].default, said["whole_bytes"].default) == (MEMORY_BYTES, WHOLE_BYTES)


def test_compact_asks_for_what_was_said(
    done: Done, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ("spark", "compact", str(tmp_path), "--whole-bytes", "5", "--json", *COMPACTED)

    said = run(words, monkeypatch, capfd)

    order = done.asked["order"]
    assert isinstance(order, CompactJobOrder)
    assert (said.code, json.loads(said.out)["partition"]) == (0, "t-0")
    assert (done.asked["paths"], order.whole_bytes) == ([str(tmp_path)], 5)
    assert done.asked["config"] == {"cleanup.policy": "compact"}


def test_compact_ends_with_1_when_a_log_has_come_to_nothing(
    done: Done, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    done.failures = (CleaningFailedError("/logs/t-1: is damaged"),)

    said = run(("spark", "compact", str(tmp_path), *COMPACTED), monkeypatch, capfd)

    assert said.code == 1
    assert "/logs/t-1: is damaged" in said.err


def test_dry_run_needs_no_spark_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    build_log(tmp_path / "t-0", seed=1)
    names = sorted(path.name for path in (tmp_path / "t-0").iterdir())

    words = ("spark", "compact", str(tmp_path / "t-0"), "--dry-run", *COMPACTED)
    said = run(words, monkeypatch, capfd)

    assert said.code == 0
    assert "rewritten as one" in said.out
    assert sorted(path.name for path in (tmp_path / "t-0").iterdir()) == names
