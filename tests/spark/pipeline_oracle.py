"""Oracle of a stream and of its table in plain Python: what a batch has to read and to leave.

    next batch      begins at the positions of the checkpoint; may end at the last stable offset
    repeated batch  has the ranges between its two ends, of the log as it is now

Both are refused where the log no longer has what the checkpoint promises, and where records of a
later leader epoch have replaced those before a position. With `may_lose` a stream goes on: at the
records that are left, and where the later epoch begins.
"""

import zlib
from collections import Counter
from collections.abc import Mapping
from typing import Final, NamedTuple

from cordwood.core.types import TopicPartition
from cordwood.core.uuids import format_uuid
from cordwood.spark.stream.stream_offset import JsonObject, StreamOffset, parse_offset
from tests.spark.hostile_logs import ModelLog
from tests.spark.hostile_tables import Row, Rows

Logs = Mapping[TopicPartition, ModelLog]
KEYS: Final = 3
_TOMBSTONES: Final = 4


class Expected(NamedTuple):
    """The expected result of a plan or of a batch: a refusal, or ranges of offsets."""

    refusal: str | None
    ranges: dict[TopicPartition, tuple[int, int]]


class Policy(NamedTuple):
    """The options of the stream that decide about refusals."""

    may_lose: bool
    restarts: bool


#: The latest leader epoch of each partition when a batch was planned.
Epochs = Mapping[TopicPartition, int]


def key_of(row: Row) -> tuple[str, int, int]:
    """Return the key of a row: a third of a partition's records have the same."""
    return (row.topic, row.partition, row.offset % KEYS)


def is_tombstone(row: Row) -> bool:
    """Return whether the transform of the pipeline makes a record a tombstone."""
    return zlib.crc32(b"%d %b" % (row.offset, row.value)) % _TOMBSTONES == 0


def next_batch(start: JsonObject, logs: Logs, policy: Policy, epochs: Epochs) -> Expected:
    """Return the positions of the next batch and the most that it may read."""
    done = parse_offset(start)
    again = _made_again(done.topic_ids, logs)
    refusal = None if policy.restarts else next((f"{each} was made again" for each in again), None)
    ranges = {}
    for each, log in logs.items():
        position = None if each.topic in again else done.positions.get(each)
        if not log.is_mounted:
            refusal = refusal or _lost(each, "is unmounted", policy, is_lost=position is not None)
            continue
        first = position if position is not None else log.start if done.is_initial else 0
        replaced = replaced_from(log, first, epochs.get(each))
        if replaced is not None and position is not None and log.stable_end() != position:
            refusal = refusal or _lost(each, "has other records", policy, is_lost=True)
            first = replaced
        elif position is not None and log.end < position:
            refusal = refusal or f"{each} ends before the position"
        refusal = refusal or _lost(each, "has lost offsets", policy, is_lost=first < log.start)
        ranges[each] = (first, max(first, log.stable_end()))
    return Expected(refusal, ranges)


def epochs_after(planned: Expected, logs: Logs, before: Epochs) -> dict[TopicPartition, int]:
    """Return the latest leader epochs after a plan; a truncation that is not read keeps its own."""
    found = dict(before)
    for each, (first, _) in planned.ranges.items():
        log = logs[each]
        if log.epochs and replaced_from(log, first, before.get(each)) is None:
            found[each] = log.epochs[-1][0]
    return found


def replaced_from(log: ModelLog, position: int, epoch: int | None) -> int | None:
    """Return where records of a later leader epoch begin below a position."""
    starts = [at for later, at in log.epochs if epoch is not None and later > epoch]
    return min((at for at in starts if at < position), default=None)


def repeated_batch(
    ends: tuple[JsonObject, JsonObject], logs: Logs, policy: Policy, epochs: Epochs
) -> Expected:
    """Return the ranges of a planned batch, between its two ends, in the logs of today."""
    before, after = map(parse_offset, ends)
    again = _made_again({**before.topic_ids, **after.topic_ids}, logs)
    refusal = None if policy.restarts else next((f"{each} was made again" for each in again), None)
    ranges = {}
    for each, end in after.positions.items():
        log, first = logs[each], _start_of(before, after, each)
        if each.topic in again:
            continue
        replaced = replaced_from(log, end, epochs.get(each)) if log.is_mounted else None
        is_replaced = replaced is not None
        refusal = refusal or _lost(each, "has other records", policy, is_lost=is_replaced)
        until = end if replaced is None else replaced
        if first >= until:
            continue
        is_lost = not log.is_mounted or first < log.start or until > log.stable_end()
        refusal = refusal or _lost(each, "has lost planned offsets", policy, is_lost=is_lost)
        if log.is_mounted:
            ranges[each] = (first, min(until, log.stable_end()))
    return Expected(refusal, ranges)


def rows_in(ranges: Mapping[TopicPartition, tuple[int, int]], logs: Logs) -> list[Row]:
    """Return the committed records of ranges, in order."""
    return [
        Row(*each, offset, record.value)
        for each, (start, end) in ranges.items()
        for offset, record in sorted(logs[each].committed().items())
        if start <= offset < end
    ]


def appended(rows: Rows, found: list[Row]) -> Rows:
    """Return the rows of a table after an append."""
    return rows + Counter(found)


def upserted(rows: Rows, found: list[Row]) -> Rows:
    """Return the rows of a table after an upsert."""
    last = {key_of(row): row for row in found}
    kept = Counter({row: count for row, count in rows.items() if key_of(row) not in last})
    return kept + Counter(row for row in last.values() if not is_tombstone(row))


def _start_of(before: StreamOffset, after: StreamOffset, partition: TopicPartition) -> int:
    begins = {**before.positions, **(after.start or {})}
    first = begins.get(partition, 0)
    known, now = before.topic_ids.get(partition.topic), after.topic_ids.get(partition.topic)
    is_other = known is not None and now is not None and known != now
    return 0 if is_other or first > after.positions[partition] else first


def _made_again(known: Mapping[str, str], logs: Logs) -> list[str]:
    now = {str(each.topic): format_uuid(log.topic_id) for each, log in logs.items()}
    return [topic for topic, topic_id in sorted(known.items()) if now[topic] != topic_id]


def _lost(where: TopicPartition, words: str, policy: Policy, *, is_lost: bool) -> str | None:
    return f"{where} {words}" if is_lost and not policy.may_lose else None
