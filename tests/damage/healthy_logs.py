"""Healthy partitions for the table of damage: small logs of every kind, as files by name.

    plain          v2, idempotent producers, three segments, three leader epochs; every codec
    old            v0 and v1 messages, and their compressed wrappers
    mixed          v0, v1 and v2 in one log, with times that go back
    transactional  committed and aborted transactions, interleaved, over three segments
    one segment    the same in one segment, so that its index has several entries
    open           the same, with a transaction that is open at a roll, and one at the end
    compacted      the same, cleaned below offset 24, and further segments after that

The broker has stopped in order, so its checkpoints are next to the partition.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from cordwood.core.uuids import Uuid
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.compression import Codec
from cordwood.records.legacy_builder import LegacyBuilder, LegacyMagic
from cordwood.storage.checkpoints.checkpoint_files import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
)
from cordwood.storage.checkpoints.clean_shutdown_file import CLEAN_SHUTDOWN
from cordwood.storage.checkpoints.partition_metadata_file import format_partition_metadata
from cordwood.storage.log.log import Log
from tests.unit.compaction.cleaned_log import CleanedLog
from tests.unit.compaction.compaction_samples import batch as words_batch
from tests.unit.storage.log_samples import DIRECTORY, NOW, SMALL, LogHarness, follow, marker

TOPIC_ID: Final = Uuid(b"damaged topic id")
#: Records in a batch, batches in a segment, and segments.
RECORDS, BATCHES, SEGMENTS = 3, 3, 3


@dataclass(frozen=True)
class HealthyLog:
    """Files of a partition, files of its log directory, and the policy of its topic."""

    name: str
    files: dict[str, bytes]
    beside: dict[str, bytes] = field(default_factory=dict)
    policy: str = "delete"
    also: dict[str, dict[str, bytes]] = field(default_factory=dict)

    def logs(self) -> list[str]:
        """Return the names of the segments, in order."""
        return sorted(name for name in self.files if name.endswith(".log"))


def plain(codec: Codec = Codec.NONE) -> HealthyLog:
    """Return a log of idempotent producers; each segment is a leader epoch."""
    place = LogHarness()
    log = place.open(SMALL)
    for number in range(SEGMENTS * BATCHES):
        _roll_at(log, number)
        at, epoch = number * RECORDS, number // BATCHES
        producer = 7 + number % 2
        fields = BatchFields(
            base_offset=at,
            partition_leader_epoch=epoch,
            producer_id=producer,
            producer_epoch=0,
            base_sequence=number // 2 * RECORDS,
            codec=codec,
        )
        follow(log, _v2(fields, at), epoch=epoch)
    return _closed(f"v2 {codec.name.lower()}", place, log)


def old(magic: LegacyMagic, codec: Codec = Codec.NONE) -> HealthyLog:
    """Return a log of an old format."""
    place = LogHarness()
    log = place.open(SMALL)
    for number in range(SEGMENTS * BATCHES):
        _roll_at(log, number)
        follow(log, _old(magic, codec, number * RECORDS))
    return _closed(f"v{magic} {codec.name.lower()}", place, log)


def mixed() -> HealthyLog:
    """Return a log with a segment of each format, from the newest time to the oldest one."""
    place = LogHarness()
    log = place.open(SMALL)
    for number in range(SEGMENTS * BATCHES):
        _roll_at(log, number)
        at, magic = number * RECORDS, number // BATCHES
        fields = BatchFields(base_offset=at, partition_leader_epoch=3, codec=Codec.LZ4)
        older = -1000 * number
        data = _v2(fields, at, older) if magic == 2 else _old(_MAGICS[magic], Codec.GZIP, at, older)
        follow(log, data, epoch=3)
    return _closed("mixed", place, log)


def transactional(
    name: str = "transactional", *, rolled_at: Sequence[int] = (5, 10), is_open: bool = False
) -> HealthyLog:
    """Return a log of transactions: 7 aborts twice, 8 commits twice; then 7 may begin another."""
    place = LogHarness()
    log = place.open(SMALL)
    story: tuple[tuple[int, int | bool], ...] = (
        *((7, 3), (8, 2), (7, False), (0, 2), (8, True)),
        *((7, 2), (8, 3), (0, 1), (7, False), (8, True)),
        *((7, 2), (0, 2), (7, True), (8, 2), (8, False), (0, 1)),
        *(((7, 2),) if is_open else ()),
    )
    at, sequences = 0, {7: 0, 8: 0}
    for number, (producer, step) in enumerate(story):
        if number in rolled_at:
            log.roll()
        if isinstance(step, bool):
            follow(log, marker(is_commit=step, producer=(producer, 0), at=at))
        else:
            fields = BatchFields(base_offset=at, partition_leader_epoch=0)
            if producer:
                fields = fields._replace(
                    producer_id=producer,
                    producer_epoch=0,
                    base_sequence=sequences[producer],
                    is_transactional=True,
                )
                sequences[producer] += step
            follow(log, _v2(fields, at, count=step))
        at += int(step) or 1
    return _closed(name, place, log)


def compacted() -> HealthyLog:
    """Return a log that was cleaned once, with dirty segments and transactions after that."""
    cleaned = CleanedLog()
    cleaned.send("a1 b1", producer=7)
    cleaned.end(7, is_commit=False)
    cleaned.put(words_batch(0, "c1 d1 a2"), is_rolled=True)
    cleaned.send("b2 c2", producer=8)
    cleaned.end(8, is_commit=True, is_rolled=True)
    cleaned.put(words_batch(0, "d2 a3 e1"), is_rolled=True)
    cleaned.put(words_batch(0, "f1"))
    cleaned.clean()
    cleaned.log.roll()
    for text, producer, is_commit in (("a4 b3", 7, False), ("c3 d3", 8, True)):
        cleaned.send(text, producer=producer)
        cleaned.end(producer, is_commit=is_commit)
        cleaned.put(words_batch(0, "g1 a5"), is_rolled=True)
    cleaned.put(words_batch(0, "h1 h2"))
    clean_to = cleaned.first_dirty
    found = _closed("compacted", cleaned.place, cleaned.log)
    beside = {**found.beside, CLEANER_OFFSETS: checkpoint(clean_to or 0)}
    return replace(found, beside=beside, policy="compact")


def checkpoint(*offsets: int) -> bytes:
    """Return a checkpoint with an entry for the partition, none without an offset."""
    lines = "".join(f"t 0 {offset}\n" for offset in offsets)
    return f"0\n{len(offsets)}\n{lines}".encode()


_MAGICS: Final[tuple[LegacyMagic, LegacyMagic]] = (0, 1)

#: The healthy logs by name.
HEALTHY: Final[dict[str, Callable[[], HealthyLog]]] = {
    **{f"v2 {codec.name.lower()}": partial(plain, codec) for codec in Codec},
    **{
        f"v{magic} {codec.name.lower()}": partial(old, magic, codec)
        for magic in _MAGICS
        for codec in (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4)
    },
    "mixed": mixed,
    "transactional": transactional,
    "one segment": partial(transactional, "one segment", rolled_at=()),
    "open": partial(transactional, "open", rolled_at=(1, 5), is_open=True),
    "compacted": compacted,
}


def _roll_at(log: Log, number: int) -> None:
    if number and number % BATCHES == 0:
        log.roll()


def _v2(fields: BatchFields, at: int, older: int = 0, count: int = RECORDS) -> bytes:
    builder = BatchBuilder(fields)
    for offset in range(at, at + count):
        builder.append(
            b"key %d" % (offset % 5), b"value %d" % offset, timestamp=_time(offset, older)
        )
    return bytes(builder.build())


def _old(magic: LegacyMagic, codec: Codec, at: int, older: int = 0) -> bytes:
    builder = LegacyBuilder(magic, base_offset=at, codec=codec)
    for offset in range(at, at + RECORDS):
        time = _time(offset, older) if magic else -1
        builder.append(b"key %d" % (offset % 5), b"value %d" % offset, timestamp=time)
    return bytes(builder.build())


def _time(offset: int, older: int) -> int:
    return NOW + 10 * offset + older


def _closed(name: str, place: LogHarness, log: Log) -> HealthyLog:
    end = log.bounds.log_end
    log.set_high_watermark(end)
    log.epoch_file.save()
    log.close()
    names = [each for each in place.files.list(DIRECTORY) if not each.endswith(".deleted")]
    files = {each: _content(place, each) for each in names}
    files["partition.metadata"] = format_partition_metadata(TOPIC_ID)
    beside = {
        RECOVERY_POINTS: checkpoint(end),
        HIGH_WATERMARKS: checkpoint(end),
        LOG_START_OFFSETS: checkpoint(),
        CLEAN_SHUTDOWN: b'{"version":0,"brokerEpoch":-1}',
    }
    return HealthyLog(name, dict(sorted(files.items())), beside)


def _content(place: LogHarness, name: str) -> bytes:
    file = place.files.open(f"{DIRECTORY}/{name}")
    return file.pread(file.size, 0)


def names_of(logs: Iterable[HealthyLog]) -> list[str]:
    """Return the names of logs."""
    return [each.name for each in logs]
