"""Kinds of damage, and legal oddities: each changes the files of one healthy log.

A change takes the files of the partition and of its log directory, by name, and alters them.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from cordwood.core.binary import crc32c
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.batch_builder import emptied as emptied_batch
from cordwood.records.batch_header import BatchHeader
from cordwood.records.record_batch import RecordBatch
from cordwood.storage.files.header_scan import headers
from tests.damage.healthy_logs import HEALTHY, HealthyLog, checkpoint
from tests.unit.storage.log_samples import NOW

Files: TypeAlias = dict[str, bytes]
Change: TypeAlias = Callable[["DamagedLog"], None]

LOG, INDEX, TIMEINDEX, TXNINDEX, SNAPSHOT = "log", "index", "timeindex", "txnindex", "snapshot"
EPOCHS = "leader-epoch-checkpoint"
#: The base offsets of the segments of plain and old logs.
FIRST, MIDDLE, LAST, END = 0, 9, 18, 27


@dataclass
class DamagedLog:
    """The files of a damaged partition; `also` are other directories, by their paths."""

    files: Files
    beside: Files
    policy: str
    also: dict[str, Files]

    def name(self, base: int, ending: str = LOG) -> str:
        """Return the name of a file."""
        return f"{base:020}.{ending}"

    def flip(self, name: str, at: int, mask: int = 1) -> None:
        """Change bits of a byte."""
        data = bytearray(self.files[name])
        data[at] ^= mask
        self.files[name] = bytes(data)

    def put(self, name: str, at: int, data: bytes) -> None:
        """Overwrite bytes."""
        old = self.files[name]
        self.files[name] = old[:at] + data + old[at + len(data) :]

    def batches(self, base: int) -> list[BatchHeader]:
        """Return the headers of a segment."""
        data = self.files[self.name(base)]
        return list(headers(lambda length, at: data[at : at + length], 0, len(data)))

    def remove(self, base: int, *endings: str) -> None:
        """Remove files of a segment; all of them without an ending."""
        for name in list(self.files):
            if name.startswith(f"{base:020}.") and (not endings or name.split(".")[1] in endings):
                del self.files[name]

    def bases(self) -> list[int]:
        """Return the base offsets of the segments."""
        return [int(name[:20]) for name in sorted(self.files) if name.endswith(".log")]


class Kind(NamedTuple):
    """A row of the table: what is done to which log. `is_harmless`: nothing is wrong with it."""

    title: str
    log: str
    change: Change
    is_harmless: bool = False

    def apply(self) -> tuple[HealthyLog, DamagedLog]:
        """Return the healthy log and the damaged one."""
        healthy = HEALTHY[self.log]()
        damaged = DamagedLog(dict(healthy.files), dict(healthy.beside), healthy.policy, {})
        self.change(damaged)
        return healthy, damaged


# -- log files


def value_bit(log: DamagedLog) -> None:
    """Flip a bit near the end of the second batch of the middle segment."""
    base = log.bases()[len(log.bases()) // 2]
    log.flip(log.name(base), log.batches(base)[1].end - 4)


def header_field(at: int, mask: int = 1) -> Change:
    """Return a change of a byte in the header of the middle segment's second batch."""

    def change(log: DamagedLog) -> None:
        log.flip(log.name(MIDDLE), log.batches(MIDDLE)[1].position + at, mask)

    return change


def wrong_count(count: int) -> Change:
    """Return a change of the record count of a batch, whose checksum is made right again."""

    def change(log: DamagedLog) -> None:
        batch, name = log.batches(MIDDLE)[1], log.name(MIDDLE)
        log.put(name, batch.position + 57, struct.pack(">i", count))
        _seal(log, batch)

    return change


def wrong_max_timestamp(by: int) -> Change:
    """Return a change of the max timestamp of a batch, with a right checksum."""

    def change(log: DamagedLog) -> None:
        batch, name = log.batches(MIDDLE)[1], log.name(MIDDLE)
        log.put(name, batch.position + 35, struct.pack(">q", batch.max_timestamp + by))
        _seal(log, batch)

    return change


def log_append_time(log: DamagedLog) -> None:
    """Let a batch have LogAppendTime: its records have its max timestamp."""
    batch, name = log.batches(MIDDLE)[1], log.name(MIDDLE)
    log.flip(name, batch.position + 22, 0x08)
    _seal(log, batch)


def wrong_records(log: DamagedLog) -> None:
    """Overwrite the first record of a batch, and make its checksum right again."""
    batch, name = log.batches(MIDDLE)[1], log.name(MIDDLE)
    log.put(name, batch.position + 61, b"\xff" * 8)
    _seal(log, batch)


def _seal(log: DamagedLog, batch: BatchHeader) -> None:
    """Write the checksum that a v2 batch has now."""
    name = log.name(MIDDLE)
    data = log.files[name][batch.position + 21 : batch.end]
    log.put(name, batch.position + 17, struct.pack(">I", crc32c(data)))


def batches_in_values(log: DamagedLog) -> None:
    """Replace a batch by one whose values are batches, and damage its header."""
    values = []
    for base in (1000, 1002, 1004):
        inner = BatchBuilder(BatchFields(base_offset=base, partition_leader_epoch=1))
        for offset in (base, base + 1):
            inner.append(b"k", b"v", timestamp=offset)
        values.append(bytes(inner.build()))
    _replace_and_damage(log, values)


def headers_in_values(log: DamagedLog) -> None:
    """Replace a batch by one whose values are headers that claim batches, and damage its header."""
    claim = struct.pack(">qiibI", MIDDLE + 3, 200, 1, 2, 0) + bytes(40)
    _replace_and_damage(log, [claim * 5] * 3)


def _replace_and_damage(log: DamagedLog, values: list[bytes]) -> None:
    """Replace the second batch of the middle segment by one with these values, and damage it."""
    builder = BatchBuilder(BatchFields(base_offset=MIDDLE + 3, partition_leader_epoch=1))
    for value in values:
        builder.append(b"backup", value, timestamp=NOW)
    name, batch = log.name(MIDDLE), log.batches(MIDDLE)[1]
    data = log.files[name]
    log.files[name] = data[: batch.position] + bytes(builder.build()) + data[batch.end :]
    log.put(name, batch.position + 8, b"\xee" * 12)


def zeroed_batch(log: DamagedLog) -> None:
    batch = log.batches(MIDDLE)[1]
    log.put(log.name(MIDDLE), batch.position, bytes(batch.size))


def garbage_behind(base: int, data: bytes = b"\xee" * 100) -> Change:
    """Return a change that appends bytes to a segment."""

    def change(log: DamagedLog) -> None:
        log.files[log.name(base)] += data

    return change


def cut(base: int, *, rest: int) -> Change:
    """Return a change that cuts a segment: `rest` bytes of its last batch stay."""

    def change(log: DamagedLog) -> None:
        name = log.name(base)
        log.files[name] = log.files[name][: log.batches(base)[-1].position + rest]

    return change


def emptied(base: int, *endings: str) -> Change:
    """Return a change that empties files of a segment."""

    def change(log: DamagedLog) -> None:
        for ending in endings:
            log.files[log.name(base, ending)] = b""

    return change


def removed(base: int, *endings: str) -> Change:
    """Return a change that removes files of a segment."""
    return lambda log: log.remove(base, *endings)


def swapped_batches(log: DamagedLog) -> None:
    name, (first, second, *_) = log.name(MIDDLE), log.batches(MIDDLE)
    data = log.files[name]
    one, other = data[first.position : first.end], data[second.position : second.end]
    log.files[name] = other + one + data[second.end :]


def doubled_batch(log: DamagedLog) -> None:
    name, first = log.name(MIDDLE), log.batches(MIDDLE)[0]
    log.files[name] = log.files[name][: first.end] + log.files[name]


def doubled_segment(log: DamagedLog) -> None:
    log.files[log.name(END)] = log.files[log.name(MIDDLE)]


def renamed(log: DamagedLog) -> None:
    log.files["00000000000000000009 copy.log"] = log.files.pop(log.name(MIDDLE))


def unclean(change: Change, recovery_point: int = LAST) -> Change:
    """Return a change of a log whose broker has crashed."""

    def both(log: DamagedLog) -> None:
        del log.beside[".kafka_cleanshutdown"]
        log.beside["recovery-point-offset-checkpoint"] = checkpoint(recovery_point)
        change(log)

    return both


def nothing(log: DamagedLog) -> None:
    """Change nothing."""


def alone(change: Change) -> Change:
    """Return a change of a partition that was copied without the files of its log directory."""

    def both(log: DamagedLog) -> None:
        log.beside.clear()
        change(log)

    return both


# -- indexes


def index_byte(base: int, ending: str, at: int, mask: int = 1) -> Change:
    """Return a change of a byte of an index; negative places count from its end."""

    def change(log: DamagedLog) -> None:
        name = log.name(base, ending)
        log.flip(name, at % len(log.files[name]), mask)

    return change


def shortened(base: int, ending: str, by: int) -> Change:
    """Return a change that cuts bytes off a file."""

    def change(log: DamagedLog) -> None:
        name = log.name(base, ending)
        log.files[name] = log.files[name][:-by]

    return change


def late_time(log: DamagedLog) -> None:
    """Let the active segment's time index end 30 years ahead."""
    name = log.name(LAST, TIMEINDEX)
    at = len(log.files[name]) - 12
    (time,) = struct.unpack_from(">q", log.files[name], at)
    log.put(name, at, struct.pack(">q", time + 30 * 365 * 86_400_000))


def swapped_indexes(log: DamagedLog) -> None:
    one, other = log.name(FIRST, INDEX), log.name(LAST, INDEX)
    log.files[one], log.files[other] = log.files[other], log.files[one]


# -- transactions


def with_entry(base: int, *entry: int) -> Change:
    """Return a change that adds an entry to a transaction index."""

    def change(log: DamagedLog) -> None:
        name = log.name(base, TXNINDEX)
        log.files[name] = log.files.get(name, b"") + struct.pack(">hqqqq", 0, *entry)

    return change


def lost_entries(log: DamagedLog) -> None:
    for name in list(log.files):
        if name.endswith(TXNINDEX):
            del log.files[name]


def lost_last_entries(log: DamagedLog) -> None:
    name = max(name for name in log.files if name.endswith(TXNINDEX) and log.files[name])
    del log.files[name]


def entry_byte(at: int, mask: int = 1) -> Change:
    """Return a change of a byte of the first entry of the first transaction index."""

    def change(log: DamagedLog) -> None:
        name = min(name for name in log.files if name.endswith(TXNINDEX) and log.files[name])
        log.flip(name, at, mask)

    return change


def false_entry(producer: int) -> Change:
    """Return a change by which the last transaction of a producer, a committed one, is aborted."""

    def change(log: DamagedLog) -> None:
        base, marker = _last_marker(log, producer=producer)
        end = marker.base_offset
        first = [
            each.base_offset
            for segment in log.bases()
            for each in log.batches(segment)
            if each.producer_id == producer and not each.is_control and each.last_offset < end
        ][-1]
        with_entry(base, producer, first, end, end + 1)(log)

    return change


def _last_marker(log: DamagedLog, *, producer: int) -> tuple[int, BatchHeader]:
    return [
        (base, each)
        for base in log.bases()
        for each in log.batches(base)
        if each.is_control and each.producer_id == producer
    ][-1]


def hurt_marker(number: int) -> Change:
    """Return a change of a marker: the first one of the log is an ABORT, the second a COMMIT."""

    def change(log: DamagedLog) -> None:
        markers = [
            (base, each) for base in log.bases() for each in log.batches(base) if each.is_control
        ]
        base, found = markers[number]
        log.flip(log.name(base), found.end - 3, 0x40)

    return change


def swapped_entries(log: DamagedLog) -> None:
    """Exchange the first two entries of the first transaction index."""
    name = min(name for name in log.files if name.endswith(TXNINDEX) and log.files[name])
    data = log.files[name]
    log.files[name] = data[34:68] + data[:34] + data[68:]


# -- snapshots, epochs, checkpoints


def snapshot_bit(log: DamagedLog) -> None:
    log.flip(log.name(MIDDLE, SNAPSHOT), 20)


def snapshot_field(at: int, masks: bytes = b"\1") -> Change:
    """Return a change of bytes of a snapshot's first producer, with a right checksum."""

    def change(log: DamagedLog) -> None:
        name = log.name(log.bases()[1], SNAPSHOT)
        for place, mask in enumerate(masks, 10 + at):
            log.flip(name, place, mask)
        log.put(name, 2, struct.pack(">I", crc32c(log.files[name][6:])))

    return change


def snapshot_of_the_future(log: DamagedLog) -> None:
    name = max(name for name in log.files if name.endswith(SNAPSHOT))
    log.files[log.name(5000, SNAPSHOT)] = log.files[name]


def epochs(*entries: tuple[int, int]) -> Change:
    """Return a change of the leader epoch checkpoint."""

    def change(log: DamagedLog) -> None:
        lines = "".join(f"{epoch} {start}\n" for epoch, start in entries)
        log.files[EPOCHS] = f"0\n{len(entries)}\n{lines}".encode()

    return change


def file(name: str, data: bytes) -> Change:
    """Return a change of the content of a file of the partition."""

    def change(log: DamagedLog) -> None:
        log.files[name] = data

    return change


def later_version(log: DamagedLog) -> None:
    name = "partition.metadata"
    log.files[name] = log.files[name].replace(b"version: 0", b"version: 4")


def beside(name: str, data: bytes) -> Change:
    """Return a change of the content of a file of the log directory."""

    def change(log: DamagedLog) -> None:
        log.beside[name] = data

    return change


def gone(name: str) -> Change:
    """Return a change that removes a file of the partition."""

    def change(log: DamagedLog) -> None:
        del log.files[name]

    return change


# -- compacted logs


def segment_gone(number: int) -> Change:
    """Return a change that removes all files of a segment, by its number."""
    return lambda log: log.remove(log.bases()[number])


def checkpoint_from_elsewhere(log: DamagedLog) -> None:
    """Make the cleaner's checkpoint count all closed segments as clean."""
    log.beside["cleaner-offset-checkpoint"] = checkpoint(log.bases()[-1])


def emptied_by_a_cleaner(log: DamagedLog) -> None:
    """Empty the last batch of producer 7, which was aborted, as a pass leaves it."""
    base, found = [
        (base, each)
        for base in log.bases()
        for each in log.batches(base)
        if each.producer_id == 7 and not each.is_control
    ][-1]
    name = log.name(base)
    data = log.files[name]
    empty = emptied_batch(RecordBatch(data, found.position))
    log.files[name] = data[: found.position] + bytes(empty) + data[found.end :]
    entries = [
        struct.pack(">ii", each.last_offset - base, each.position) for each in log.batches(base)
    ]
    log.files[log.name(base, INDEX)] = b"".join(entries)
    log.beside["cleaner-offset-checkpoint"] = checkpoint(log.bases()[-1])


# -- several directories


def sibling(name: str, files: Files) -> Change:
    """Return a change that adds another directory to the log directory."""

    def change(log: DamagedLog) -> None:
        log.also[name] = dict(files)

    return change


def only_indexes_left(log: DamagedLog) -> None:
    """Cut the active segment; of all witnesses of its end only its indexes are left."""
    cut(LAST, rest=0)(log)
    log.beside.clear()
    for name in [name for name in log.files if name.endswith((SNAPSHOT, EPOCHS))]:
        del log.files[name]


def only_logs(log: DamagedLog) -> None:
    for name in list(log.files):
        if not name.endswith(".log"):
            del log.files[name]


def preallocated(log: DamagedLog) -> None:
    for ending in (INDEX, TIMEINDEX):
        log.files[log.name(LAST, ending)] += bytes(240)
