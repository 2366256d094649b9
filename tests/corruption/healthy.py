"""Healthy partition directories, written byte by byte, independently of Cordwood's code.

A directory contains files by name, and the position and content of every record. Some batches are
compressed, and some are of idempotent producers. Each segment begins a leader epoch and ends in an
aborted transaction. Indexes, snapshots, checkpoints and metadata are those of a cleanly stopped
broker.
"""

import gzip
import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import google_crc32c

PARTITION = "orders-3"
START_MS = 1_700_000_000_000
HEADER = 61
NO_PRODUCER = (-1, -1, -1)
ABORTING = 9000


class WrittenRecord(NamedTuple):
    """A record, its file, and the byte ranges that are needed to read it."""

    offset: int
    timestamp: int
    key: bytes
    value: bytes
    file: str
    needs: tuple[tuple[int, int], ...]


class WrittenBatch(NamedTuple):
    """A batch and its position in its file."""

    file: str
    position: int
    size: int
    base_offset: int
    last_offset: int


@dataclass
class HealthyLog:
    """The files of a partition and of its log directory, and their contents."""

    files: dict[str, bytes] = field(default_factory=dict)
    beside: dict[str, bytes] = field(default_factory=dict)
    records: list[WrittenRecord] = field(default_factory=list)
    batches: list[WrittenBatch] = field(default_factory=list)
    end: int = 0

    def logs(self) -> list[str]:
        """Return the names of the log files, in order."""
        return sorted(name for name in self.files if name.endswith(".log"))


class _Batch(NamedTuple):
    """The bytes of a batch, and its records with positions relative to its start."""

    data: bytes
    records: list[WrittenRecord]
    offsets: int
    latest: int


def healthy_log(seed: int) -> HealthyLog:
    """Return a directory, determined by the seed."""
    chance = random.Random(seed)
    log = HealthyLog()
    offset = chance.choice((0, 0, 1000))
    epochs = [(0, offset)]
    for segment in range(chance.randint(3, 4)):
        if segment:
            epochs.append((segment * 2, offset))
        name = f"{offset:020}"
        if offset:
            log.files[f"{name}.snapshot"] = _snapshot()
        offset = _segment(log, chance, name, offset, epochs[-1][0])
    log.end = offset
    log.files[f"{offset:020}.snapshot"] = _snapshot()
    lines = "".join(f"{epoch} {start}\n" for epoch, start in epochs)
    log.files["leader-epoch-checkpoint"] = f"0\n{len(epochs)}\n{lines}".encode()
    log.files["partition.metadata"] = b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAFw"
    topic, number = PARTITION.split("-")
    log.beside[".kafka_cleanshutdown"] = b'{"version":0,"brokerEpoch":-1}'
    log.beside["cordwood.metadata"] = _metadata(topic)
    for checkpoint in ("recovery-point", "replication"):
        text = f"0\n1\n{topic} {number} {offset}\n"
        log.beside[f"{checkpoint}-offset-checkpoint"] = text.encode()
    return log


def _segment(log: HealthyLog, chance: random.Random, name: str, offset: int, epoch: int) -> int:
    """Write a segment and its indexes; return the offset behind it."""
    base = offset
    out = bytearray()
    entries, times = bytearray(), bytearray()
    latest, since = (-1, offset), 0
    for batch in _batches(chance, offset, epoch):
        count = batch.offsets
        if batch.latest > latest[0]:
            latest = (batch.latest, offset + count - 1)
        if since > 4096:
            entries += struct.pack(">ii", offset + count - 1 - base, len(out))
            times += struct.pack(">qi", latest[0], latest[1] - base)
            since = 0
        since += len(batch.data)
        log.batches.append(
            WrittenBatch(f"{name}.log", len(out), len(batch.data), offset, offset + count - 1)
        )
        log.records += [
            record._replace(
                file=f"{name}.log",
                needs=tuple((start + len(out), stop + len(out)) for start, stop in record.needs),
            )
            for record in batch.records
        ]
        out += batch.data
        offset += count
    if times[-12:] != struct.pack(">qi", latest[0], latest[1] - base):
        times += struct.pack(">qi", latest[0], latest[1] - base)
    log.files[f"{name}.log"] = bytes(out)
    log.files[f"{name}.index"] = bytes(entries)
    log.files[f"{name}.timeindex"] = bytes(times)
    aborted = log.batches[-2]
    log.files[f"{name}.txnindex"] = struct.pack(
        ">hqqqq", 0, ABORTING, aborted.base_offset, offset - 1, offset
    )
    return offset


def _batches(chance: random.Random, offset: int, epoch: int) -> Iterator[_Batch]:
    """Yield the batches of a segment: the last one is the marker of the one before."""
    for _ in range(chance.randint(4, 12)):
        is_idempotent = chance.random() < 0.3
        producer = (7000 + chance.randrange(3), 0, offset) if is_idempotent else NO_PRODUCER
        batch = _batch(chance, offset, epoch, producer=producer)
        yield batch
        offset += batch.offsets
    batch = _batch(chance, offset, epoch, producer=(ABORTING, 0, 0), attributes=0x10)
    yield batch
    yield _abort(offset + batch.offsets, epoch)


def _abort(offset: int, epoch: int) -> _Batch:
    """Return the marker that aborts a transaction."""
    record = bytes(3) + _varint(4) + bytes(4) + _varint(6) + bytes(6) + b"\0"
    payload, at_ms = _varint(len(record)) + record, START_MS + offset * 10
    said = struct.pack(">hiqqqhii", 0x30, 0, at_ms, at_ms, ABORTING, 0, -1, 1)
    return _Batch(_sealed(offset, epoch, said + payload), [], 1, at_ms)


def _batch(
    chance: random.Random,
    offset: int,
    epoch: int,
    *,
    producer: tuple[int, int, int],
    attributes: int = 0,
) -> _Batch:
    """Return a batch of up to forty records."""
    first_ms = START_MS + offset * 10
    body, places, said = bytearray(), [], []
    for delta in range(chance.randint(1, 40)):
        key = b"key-%d" % chance.randrange(50)
        value = bytes(chance.choices(b"abcdefgh", k=chance.randint(0, 120)))
        record = bytearray(b"\0" + _varint(delta * 7) + _varint(delta))
        record += _varint(len(key)) + key + _varint(len(value)) + value + b"\0"
        start = len(body)
        body += _varint(len(record)) + record
        places.append((start, len(body)))
        said.append((offset + delta, first_ms + delta * 7, key, value))
    codec = chance.choice((0, 0, 0, 1))
    payload = gzip.compress(bytes(body), mtime=0) if codec else bytes(body)
    checked = struct.pack(
        ">hiqqqhii",
        codec | attributes,
        len(said) - 1,
        first_ms,
        said[-1][1],
        *producer,
        len(said),
    )
    checked += payload
    whole = ((0, HEADER + len(payload)),)
    records = [
        WrittenRecord(*each, "", whole if codec else ((0, HEADER), (HEADER + start, HEADER + stop)))
        for each, (start, stop) in zip(said, places, strict=True)
    ]
    return _Batch(_sealed(offset, epoch, checked), records, len(said), said[-1][1])


def _sealed(offset: int, epoch: int, checked: bytes) -> bytes:
    """Return a batch: the checksummed bytes with the header fields before them."""
    crc = google_crc32c.value(checked)
    return struct.pack(">qiibI", offset, 9 + len(checked), epoch, 2, crc) + checked


def _metadata(topic: str) -> bytes:
    """Return metadata with a topic that has default settings."""
    change = b'{"/brokers/topics/%s":[0,"{}"]}' % topic.encode()
    return b"cordwood.metadata 1\n%08x %s\n" % (google_crc32c.value(change), change)


def _snapshot() -> bytes:
    """Return a snapshot without producers."""
    entries = struct.pack(">i", 0)
    return struct.pack(">hI", 1, google_crc32c.value(entries)) + entries


def _varint(number: int) -> bytes:
    raw, out = (number << 1) ^ (number >> 63), bytearray()
    while raw > 0x7F:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    return bytes((*out, raw))
