"""Rules of a topic for records, with one error per record (Kafka: `ApiRecordError`).

    compacted topic    every record has a key
    wrapper            every inner message has the wrapper's magic
    timestamp          every record is within the limits (`timestamp_limits`)

A batch is accepted or rejected as a whole. Its facts show whether any record breaks a rule. Only
then are the records read one by one, to name them all. As in Kafka, a single wrong timestamp makes
the whole error an `InvalidTimestampsError`.
"""

from typing import Final, NamedTuple

from cordwood.core.errors import InvalidRecordError, InvalidTimestampError, KafkaError
from cordwood.records.batch_header import BatchHeader
from cordwood.records.batch_stream import AnyBatch
from cordwood.records.record import Record
from cordwood.records.record_checks import BatchFacts, is_foreign
from cordwood.storage.log_config import LogConfig
from cordwood.storage.validation.timestamp_limits import NO_TIMESTAMP, timestamp_problem

_SHOWN: Final = 3


class RecordError(NamedTuple):
    """The problem of the record at `batch_index` of its batch."""

    batch_index: int
    message: str


class RejectedRecordsError(KafkaError):
    """Records that break the topic's rules; no record of their batch is written."""

    def __init__(self, *record_errors: RecordError) -> None:
        first = "; ".join(f"record {index}: {text}" for index, text in record_errors[:_SHOWN])
        more = "; ..." if len(record_errors) > _SHOWN else ""
        super().__init__(f"{len(record_errors)} records are invalid: {first}{more}")
        self.record_errors = record_errors


class InvalidRecordsError(RejectedRecordsError, InvalidRecordError):
    """Records without a required key, or with another magic than their batch."""


class InvalidTimestampsError(RejectedRecordsError, InvalidTimestampError):
    """Records with timestamps out of range, and perhaps other problems."""


class RecordRules(NamedTuple):
    """The rules of a topic for records that arrive at `now_ms`."""

    config: LogConfig
    now_ms: int

    def ensure_valid(self, batch: AnyBatch, header: BatchHeader, *, facts: BatchFacts) -> None:
        """Reject a batch with a record that breaks a rule."""
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
        """Return whether any record breaks a rule, from the extremes in the facts."""
        if facts.foreign or (facts.keyless and self.config.is_compacted):
            return True
        if self._time_problem(facts.min_timestamp, header):
            return True
        latest = facts.max_timestamp
        if latest in (NO_TIMESTAMP, facts.min_timestamp):
            return False
        return bool(self._time_problem(latest, header))

    def _content_problem(self, record: Record, batch: AnyBatch) -> str:
        if is_foreign(record, batch):
            return f"its magic is not {batch.magic}, that of its wrapper"
        if record.key is None and self.config.is_compacted:
            return "a compacted topic needs a key in every record"
        return ""

    def _time_problem(self, timestamp: int, header: BatchHeader) -> str:
        return timestamp_problem(timestamp, header, config=self.config, now_ms=self.now_ms)
