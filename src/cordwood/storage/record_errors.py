"""The rules of a topic for single records, and the errors that say which records break them.

    compacted topic             every record has a key
    wrapper                     every message inside has the wrapper's magic
    CreateTime, timestamp T     now - T <= message.timestamp.before.max.ms
                                T - now <= message.timestamp.after.max.ms
    LogAppendTime               the producer has not dated the batch in the log's stead; under
                                CreateTime neither, where a record has no timestamp to hold

A batch is taken or refused as a whole. Its facts say whether any record breaks a rule; only then
are the records looked at one by one, to name them all. One wrong timestamp among other faults
makes the whole error one of timestamps, as in Kafka.
"""

from typing import Final, NamedTuple

from cordwood.core.errors import InvalidRecordError, InvalidTimestampError, KafkaError
from cordwood.records.header import BatchHeader
from cordwood.records.inspect import BatchFacts, is_foreign
from cordwood.records.record import Record, TimestampType
from cordwood.records.stream import AnyBatch
from cordwood.storage.log_config import LogConfig

_NO_TIMESTAMP: Final = -1
_SHOWN: Final = 3


class RecordError(NamedTuple):
    """What is wrong with the record at `batch_index` of its batch."""

    batch_index: int
    message: str


class RejectedRecordsError(KafkaError):
    """Records that the topic does not take; no other record of their batch is written either."""

    def __init__(self, *record_errors: RecordError) -> None:
        first = "; ".join(f"record {index}: {text}" for index, text in record_errors[:_SHOWN])
        more = "; ..." if len(record_errors) > _SHOWN else ""
        super().__init__(f"{len(record_errors)} records are refused: {first}{more}")
        self.record_errors = record_errors


class InvalidRecordsError(RejectedRecordsError, InvalidRecordError):
    """Records without a key that they need, or of a format that is not their batch's."""


class InvalidTimestampsError(RejectedRecordsError, InvalidTimestampError):
    """Records whose timestamps the topic does not take, perhaps beside other faults."""


class RecordRules(NamedTuple):
    """What a topic asks of records that arrive at `now_ms`."""

    config: LogConfig
    now_ms: int

    def ensure_kept(self, batch: AnyBatch, header: BatchHeader, *, facts: BatchFacts) -> None:
        """Refuse a batch of which any record breaks a rule."""
        if not self._is_broken(header, facts):
            return
        contents: list[RecordError] = []
        times: list[RecordError] = []
        for index, record in enumerate(batch.records()):
            if problem := self._content_problem(record, batch):
                contents.append(RecordError(index, problem))
            elif problem := self._time_problem(record.timestamp, header):
                times.append(RecordError(index, problem))
        if times:
            raise InvalidTimestampsError(*sorted(contents + times))
        raise InvalidRecordsError(*contents)

    def _is_broken(self, header: BatchHeader, facts: BatchFacts) -> bool:
        """Whether any record breaks a rule, which the extremes of a batch tell for all of it."""
        if facts.foreign or (facts.keyless and self.config.is_compacted):
            return True
        if self._time_problem(facts.min_timestamp, header):
            return True
        latest = facts.max_timestamp
        return latest != _NO_TIMESTAMP and bool(self._time_problem(latest, header))

    def _content_problem(self, record: Record, batch: AnyBatch) -> str:
        if is_foreign(record, batch):
            return f"its magic is not the {batch.magic} of its wrapper"
        if record.key is None and self.config.is_compacted:
            return "a compacted topic takes no record without a key"
        return ""

    def _time_problem(self, timestamp: int, header: BatchHeader) -> str:
        """Return what is wrong with a timestamp, if anything."""
        config, now_ms = self.config, self.now_ms
        if (
            config.message_timestamp_type is TimestampType.LOG_APPEND_TIME
            or timestamp == _NO_TIMESTAMP
        ):
            return "a producer set LogAppendTime" if header.is_log_append_time else ""
        before, after = (
            config.message_timestamp_before_max_ms,
            config.message_timestamp_after_max_ms,
        )
        if now_ms - timestamp > before or timestamp - now_ms > after:
            return f"timestamp {timestamp} is not between {now_ms - before} and {now_ms + after}"
        return ""
