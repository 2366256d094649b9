"""The job `compact` without a session: rejected directories, and logs without a pass."""

from collections.abc import Callable, Sequence

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from cordwood.compaction.cleaning_job import CleaningFailedError, CleaningResult
from cordwood.core.errors import LogDirectoryError, SettingError
from cordwood.core.ports import Ports
from cordwood.spark.jobs.compaction import compact_job
from cordwood.spark.jobs.compaction.compact_job import Compaction, compact_partitions
from cordwood.spark.jobs.compaction.compact_order import CompactJobOrder
from cordwood.storage.log.log import Log
from cordwood.testing.seeded_random import SeededRandom
from cordwood.workbench.compact import CompactReport, CompactTarget, PreparedPass, swap_in
from cordwood.workbench.record_digest import RecordReaders
from tests.unit.storage.log_samples import DIRECTORY
from tests.unit.workbench.compact_samples import CompactedPartition

pytestmark = pytest.mark.spark

ORDER = CompactJobOrder()


def run_here(
    _spark: object, parts: Sequence[object], *, work: Callable[..., object], progress: object
) -> list[object]:
    """Run tasks in this process."""
    del progress
    return [work(part, lambda _size: None) for part in parts]


def compact_two(
    failure: Exception, monkeypatch: pytest.MonkeyPatch, reports: list[CompactReport]
) -> Compaction:
    """Compact two logs, of which the second one fails after its segments were swapped in."""
    partition = CompactedPartition("a1", "a2", "b1")
    files, second = partition.place.files, DIRECTORY.replace("t-0", "t-1")
    files.make_directory(second)
    for each in files.list(DIRECTORY):
        found = files.open(f"{DIRECTORY}/{each}")
        files.create(f"{second}/{each}").append(found.pread(found.size, 0))

    def swapped(
        ports: Ports,
        log: Log,
        *,
        prepared: PreparedPass,
        cleaning: CleaningResult,
        readers: RecordReaders,
    ) -> CompactReport:
        report = swap_in(ports, log, prepared=prepared, cleaning=cleaning, readers=readers)
        if log.directory == second:
            raise failure
        return report

    monkeypatch.setattr(compact_job, "run_tasks", run_here)
    monkeypatch.setattr(compact_job, "swap_in", swapped)
    places = [CompactTarget(each, partition.settings()) for each in (DIRECTORY, second)]
    ports = Ports(files=files, clock=partition.place.clock, random=SeededRandom(7))
    return compact_partitions(None, places, ports=ports, order=ORDER, on_report=reports.append)  # type: ignore[arg-type]  # as below


def compact(
    partition: CompactedPartition,
    place: CompactTarget,
    on_report: Callable[[CompactReport], object] | None = None,
) -> Compaction:
    """Compact without a session, so that a task would fail."""
    ports = Ports(files=partition.place.files, clock=partition.place.clock, random=SeededRandom(7))
    return compact_partitions(None, [place], ports=ports, order=ORDER, on_report=on_report)  # type: ignore[arg-type]  # as above


def test_directory_in_use_is_rejected() -> None:
    partition = CompactedPartition("a1", "a2")
    partition.place.files.lock("/d/.lock")

    with pytest.raises(LogDirectoryError, match="in use by a broker"):
        compact(partition, CompactTarget(DIRECTORY, partition.settings()))


def test_topic_that_is_not_compacted_is_rejected() -> None:
    partition = CompactedPartition("a1", "a2")
    place = CompactTarget(DIRECTORY, partition.settings(cleanup_policy="delete"))

    with pytest.raises(SettingError, match="not compacted"):
        compact(partition, place)


def test_log_without_inactive_segments_is_finished_and_reported() -> None:
    partition, reports = CompactedPartition("a1 a2"), list[CompactReport]()
    place = CompactTarget(DIRECTORY, partition.settings())

    done = compact(partition, place, reports.append)

    assert reports == list(done.reports)
    assert done.reports[0].groups == ()
    assert done.failures == ()


def test_log_that_fails_after_the_swap_does_not_stop_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reports: list[CompactReport] = []
    failure = CleaningFailedError("/d/t-1: damaged")

    done = compact_two(failure, monkeypatch, reports)

    assert ([each.partition for each in done.reports], done.failures) == (["t-0"], (failure,))
    assert reports == list(done.reports)


def test_finished_log_is_reported_before_the_disk_of_the_next_one_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reports: list[CompactReport] = []

    with pytest.raises(OSError, match="no space"):
        compact_two(OSError("no space"), monkeypatch, reports)

    assert [each.certificate is not None for each in reports] == [True]


def test_attempts_of_a_killed_job_are_removed() -> None:
    partition = CompactedPartition("a1 a2")
    left = f"{DIRECTORY}/cleaning-0123456789abcdef"
    partition.place.files.make_directory(left)
    partition.place.files.create(f"{left}/{0:020}.log.cleaned")

    compact(partition, CompactTarget(DIRECTORY, partition.settings()))

    assert not any("cleaning" in name for name in partition.place.files.list(DIRECTORY))
