"""Limits for the timestamps of records (Kafka: `LogValidator.validateTimestamp`).

CreateTime, timestamp T     now - T <= message.timestamp.before.max.ms
                            T - now <= message.timestamp.after.max.ms
LogAppendTime               the producer has not set the timestamp type LogAppendTime; under
                            CreateTime too, for a record without a timestamp
"""

from typing import Final

from cordwood.records.batch_header import BatchHeader
from cordwood.records.record import TimestampType
from cordwood.storage.log_config import LogConfig

NO_TIMESTAMP: Final = -1


def timestamp_problem(
    timestamp: int, header: BatchHeader, *, config: LogConfig, now_ms: int
) -> str:
    """Return the problem of a record's timestamp in the batch of `header`; empty without one."""
    is_set_by_log = config.message_timestamp_type is TimestampType.LOG_APPEND_TIME
    if is_set_by_log or timestamp == NO_TIMESTAMP:
        return "a producer set LogAppendTime" if header.is_log_append_time else ""
    earliest = now_ms - config.message_timestamp_before_max_ms
    latest = now_ms + config.message_timestamp_after_max_ms
    if not earliest <= timestamp <= latest:
        return f"timestamp {timestamp} is not between {earliest} and {latest}"
    return ""
