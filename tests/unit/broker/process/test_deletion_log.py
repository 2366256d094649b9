"""Tests of the log lines and counters of deleted segments."""

import logging

import pytest

from cordwood.broker.process.deletion_log import report_deletion
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.observability.metrics import Metrics
from cordwood.storage.manager.deleted_ranges import DeletedRange

ORDERS = TopicPartition(TopicName("orders"), PartitionId(0))


def test_deletion_is_one_line_and_counted_by_its_reason(caplog: pytest.LogCaptureFixture) -> None:
    metrics = Metrics()

    with caplog.at_level(logging.INFO):
        report_deletion(metrics, DeletedRange(ORDERS, "retention.ms", 5, 9, 2, 700))

    (line,) = caplog.records
    assert vars(line)["cordwood_fields"] == {
        "partition": "orders-0",
        "reason": "retention.ms",
        "first_offset": 5,
        "end_offset": 9,
        "segments": 2,
        "bytes": 700,
    }
    assert metrics.counter("cordwood_deleted_segments_total", "retention.ms").value == 2
    assert metrics.counter("cordwood_deleted_bytes_total", "retention.ms").value == 700
