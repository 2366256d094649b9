"""Tests of the reports of deleted segments."""

from cordwood.storage.manager import log_renames
from cordwood.storage.manager.deleted_ranges import DeletedRange, deleted_ranges
from tests.unit.storage.log_samples import filled
from tests.unit.storage.manager_samples import LogManagerHarness, create_logs, partition


def test_nothing_is_reported_without_a_deletion() -> None:
    assert list(deleted_ranges(partition(), [])) == []


def test_log_of_a_deleted_topic_is_reported_as_a_whole() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    log = filled(create_logs(manager)[0], 3)
    size = log.size

    log_renames.delete(manager, partition())

    assert harness.deleted == [
        DeletedRange(partition(), "topic deleted", 0, 3, len(log.base_offsets), size)
    ]
