"""The job `compact` without a session: rejected directories, and logs without a pass."""

from collections.abc import Callable

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from cordwood.core.errors import LogDirectoryError, SettingError
from cordwood.core.ports import Ports
from cordwood.spark.jobs.compaction.compact_job import Compaction, compact_partitions
from cordwood.spark.jobs.compaction.compact_order import CompactJobOrder
from cordwood.testing.seeded_random import SeededRandom
from cordwood.workbench.compact import CompactReport, CompactTarget
from tests.unit.storage.log_samples import DIRECTORY
from tests.unit.workbench.compact_samples import CompactedPartition

pytestmark = pytest.mark.spark

ORDER = CompactJobOrder()


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


def test_attempts_of_a_killed_job_are_removed() -> None:
    partition = CompactedPartition("a1 a2")
    left = f"{DIRECTORY}/cleaning-0123456789abcdef"
    partition.place.files.make_directory(left)
    partition.place.files.create(f"{left}/{0:020}.log.cleaned")

    compact(partition, CompactTarget(DIRECTORY, partition.settings()))

    assert not any("cleaning" in name for name in partition.place.files.list(DIRECTORY))
