"""Timestamps are limited when producers set them, and not when the log does."""

import pytest

from cordwood.records.batch_builder import BatchFields
from cordwood.records.batch_header import BatchHeader, read_header
from cordwood.storage.log_config import LogConfig
from cordwood.storage.validation.timestamp_limits import NO_TIMESTAMP, timestamp_problem
from tests.unit.storage.produced import NOW, STAMPING, v2

BOUNDED = LogConfig(message_timestamp_before_max_ms=100, message_timestamp_after_max_ms=10)


def header_of(fields: BatchFields | None = None) -> BatchHeader:
    header = read_header(v2() if fields is None else v2(fields=fields))
    assert header is not None
    return header


CREATE_TIME = header_of()
LOG_APPEND_TIME = header_of(BatchFields(log_append_time_ms=NOW))


@pytest.mark.parametrize("timestamp", (NOW - 100, NOW, NOW + 10, NO_TIMESTAMP))
def test_timestamp_is_accepted_at_the_limits(timestamp: int) -> None:
    assert not timestamp_problem(timestamp, CREATE_TIME, config=BOUNDED, now_ms=NOW)


@pytest.mark.parametrize("timestamp", (NOW - 101, NOW + 11))
def test_timestamp_is_rejected_beyond_the_limits(timestamp: int) -> None:
    problem = timestamp_problem(timestamp, CREATE_TIME, config=BOUNDED, now_ms=NOW)

    assert problem == f"timestamp {timestamp} is not between {NOW - 100} and {NOW + 10}"


def test_timestamp_before_the_epoch_is_accepted_without_a_limit() -> None:
    assert not timestamp_problem(-9, CREATE_TIME, config=LogConfig(), now_ms=NOW)


@pytest.mark.parametrize("timestamp", (5, NOW * 2))
def test_timestamps_are_not_limited_when_the_log_sets_them(timestamp: int) -> None:
    config = LogConfig(
        message_timestamp_type=STAMPING.message_timestamp_type, message_timestamp_after_max_ms=0
    )

    assert not timestamp_problem(timestamp, CREATE_TIME, config=config, now_ms=NOW)


@pytest.mark.parametrize(("config", "timestamp"), ((STAMPING, NOW), (BOUNDED, NO_TIMESTAMP)))
def test_log_append_time_of_a_producer_is_rejected(config: LogConfig, timestamp: int) -> None:
    problem = timestamp_problem(timestamp, LOG_APPEND_TIME, config=config, now_ms=NOW)

    assert problem == "a producer set LogAppendTime"
