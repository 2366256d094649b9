"""Files of every kind that a dump may meet: sound, torn, padded, damaged, or not ours at all."""

import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from cordwood.core.binary import crc32c
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.control_records import (
    Control,
    Endpoint,
    EndTransaction,
    KRaftVersion,
    LeaderChange,
    QuorumVoter,
    SnapshotFooter,
    SnapshotHeader,
    Voter,
    Voters,
    control_batch,
)
from tests.interop.kafka_harness import samples
from tests.interop.kafka_harness.ours import write_ours

Make = Callable[[Path], None]

NAME: Final = "00000000000000000000"
PRODUCER: Final = BatchFields(producer_id=7, producer_epoch=1, base_offset=3)
CONTROLS: Final[tuple[Control, ...]] = (
    EndTransaction(is_commit=True, coordinator_epoch=9),
    EndTransaction(is_commit=False, coordinator_epoch=-1),
    LeaderChange(1, (QuorumVoter(1), QuorumVoter(2)), (QuorumVoter(1),)),
    SnapshotHeader(1_700_000_000_000),
    SnapshotFooter(),
    KRaftVersion(1),
    Voters((Voter(1, bytes(range(16)), (Endpoint("CONTROLLER", "größe.example", 9093),), 0, 1),)),
)


def corpus(folder: Path) -> list[Path]:
    """Write all of it, each sample into a folder of its own, and return the files to dump."""
    paths = []
    for number, (name, data) in enumerate(_files()):
        home = folder / f"sample-{number}"
        home.mkdir()
        if isinstance(data, dict):
            for each, content in data.items():
                (home / each).write_bytes(content)
        paths.append(home / name)
        if isinstance(data, bytes):
            (home / name).write_bytes(data)
    return paths


def _files() -> Iterator[tuple[str, "bytes | dict[str, bytes] | None"]]:
    for data in _logs():
        yield f"{NAME}.log", data
    yield "00000000000000000003.log", batch(3) + batch(5)
    yield "not-a-number.log", batch(0)
    yield "00000000000000000000.log", None
    yield from _snapshots()
    yield from _indexes()
    yield from _time_indexes()
    yield from _transactions()
    yield from _producers()
    yield "leader-epoch-checkpoint", b"0\n0\n"
    yield f"{NAME}.log.deleted", batch(0)
    yield f"{NAME}.index.cleaned", b""


# -- logs


def batch(base_offset: int, *, count: int = 2, timestamp: int = 1000) -> bytes:
    """Return a small batch."""
    builder = BatchBuilder(BatchFields(base_offset=base_offset))
    for at in range(count):
        builder.append(b"k%d" % at, b"v" * at, timestamp=timestamp + at)
    return bytes(builder.build())


def binary() -> bytes:
    """Return a batch whose texts are not UTF-8, each in another way."""
    lead = b"\x00\x41\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0\xc2\xdf\xe0\xed\xef\xf0\xf4\xf5\xf8\xff"
    builder = BatchBuilder()
    for first in lead:
        for second in lead:
            for rest in (b"", b"\x80", b"\x41", b"\x80\x80", b"\x80\x41", b"\xbf\xbf\xbf"):
                value = bytes([first, second]) + rest
                builder.append(value, value + b"!" + value, timestamp=5)
    return bytes(builder.build())


def changed(data: bytes, at: int, new: bytes, *, is_signed_off: bool = True) -> bytes:
    """Return a batch with other bytes, and with the checksum that belongs to them or not."""
    copied = bytearray(data)
    copied[at : at + len(new)] = new
    if is_signed_off:
        struct.pack_into(">I", copied, 17, crc32c(copied[21:]))
    return bytes(copied)


def _logs() -> Iterator[bytes]:
    for _, spec in samples.v2_specs():
        yield write_ours(spec)
    for magic in (0, 1):
        for _, spec in samples.legacy_specs(magic):
            yield write_ours(spec)
    for control in CONTROLS:
        yield bytes(control_batch(control, PRODUCER, timestamp=1000))
    marker = bytes(control_batch(CONTROLS[0], PRODUCER, timestamp=1000))
    key_at = marker.index(b"\x00\x00\x00\x01", 61)
    yield changed(marker, key_at, b"\x00\x00\x00\x63")
    yield changed(marker, key_at, b"\x00\x00\xff\xfe")
    yield changed(marker, key_at, b"\xff\xff\x00\x01")
    yield binary()
    yield from _damaged()
    yield b"".join(batch(2 * at, count=2, timestamp=1000 * at) for at in range(500))


def _damaged() -> Iterator[bytes]:
    sound = batch(0) + batch(2)
    headed = BatchBuilder()
    headed.append(b"k", b"v", timestamp=1, headers=(("heads", b"x"), ("up", None)))
    one = bytes(headed.build())
    yield b""
    yield b"\x00" * 17
    yield b"\x00" * 18
    for cut in (1, 10, 60, 75):
        yield sound[:-cut]
    yield sound + b"\x00" * 100
    yield sound + b"\x00" * 12
    yield sound[:-1] + b"\xff"
    yield changed(batch(0), 23, b"\xff\xff\xff\xff")
    yield changed(batch(0), 53, struct.pack(">i", -5))
    yield changed(batch(0), 53, struct.pack(">i", 2**31 - 1))
    yield changed(batch(0), 21, b"\x00\x07")
    yield changed(batch(0), 21, b"\x00\x01")
    for count in (-1, 0, 1, 3):
        yield changed(batch(0), 57, struct.pack(">i", count))
    yield changed(batch(0), 16, b"\x03", is_signed_off=False)
    yield changed(batch(0), 8, struct.pack(">i", 20), is_signed_off=False) + bytes(80)
    yield changed(one, one.index(b"heads"), b"h\xffa\xed\xa0")
    yield changed(one, one.index(b"\x0aheads"), b"\x01")
    for at in range(61, len(one)):
        yield batch(0) + changed(one, at, bytes([one[at] ^ 0x41]))
    for spec_name in ("plain-gzip", "plain-none"):
        for magic in (0, 1):
            old = write_ours(dict(samples.legacy_specs(magic))[spec_name])
            yield from (old[:at] + bytes([old[at] ^ 1]) + old[at + 1 :] for at in range(60))
    yield batch(2**62)


# -- the files of a quorum


def _snapshots() -> Iterator[tuple[str, bytes]]:
    inside = bytes(control_batch(SnapshotHeader(5), BatchFields(), timestamp=5)) + batch(1)
    yield "00000000000000000100-0000000005.checkpoint", inside
    yield "bootstrap.checkpoint", inside
    yield "00000000000000000100_0000000005-more.checkpoint", inside
    yield "0000000000000000x100-0000000005.checkpoint", inside


# -- indexes


LOG: Final = tuple(batch(2 * at, timestamp=1000 * (at + 1)) for at in range(40))
SIZE: Final = len(LOG[0])
WHOLE: Final = b"".join(LOG)
GOOD: Final = tuple((2 * at + 1, at * SIZE) for at in range(3, 40, 4))


def _entries(layout: str, entries: "tuple[tuple[int, ...], ...]") -> bytes:
    return b"".join(struct.pack(layout, *entry) for entry in entries)


def _indexes() -> Iterator[tuple[str, dict[str, bytes]]]:
    good = _entries(">ii", GOOD)
    shapes = [
        good,
        b"",
        b"\x00" * 7,
        good + bytes(8 * 20),
        bytes(8 * 20),
        good[:-3],
        _entries(">ii", ((2, 0), (7, 3 * SIZE), (3, SIZE), (5, SIZE))),
        _entries(">ii", ((7, 3 * SIZE), (9, 4 * SIZE + 1))),
        _entries(">ii", ((7, 3 * SIZE), (9, len(WHOLE)))),
        _entries(">ii", ((7, 3 * SIZE), (9, len(WHOLE) + 1))),
        _entries(">ii", ((7, 3 * SIZE), (9, -1))),
        _entries(">ii", ((7, 3 * SIZE), (-9, 0))),
    ]
    for shape in shapes:
        yield f"{NAME}.index", {f"{NAME}.log": WHOLE, f"{NAME}.index": shape}
    yield f"{NAME}.index", {f"{NAME}.index": good}
    yield (
        "00000000000000000007.index",
        {
            "00000000000000000007.log": WHOLE[3 * SIZE :],
            "00000000000000000007.index": _entries(">ii", ((0, 0), (2, SIZE), (0, 0))),
        },
    )
    old = write_ours(dict(samples.legacy_specs(1))["plain-none"])
    yield f"{NAME}.index", {f"{NAME}.log": old, f"{NAME}.index": _entries(">ii", ((0, 0),))}


def _time_indexes() -> Iterator[tuple[str, dict[str, bytes]]]:
    times = tuple((1000 * (at + 1) + 1, 2 * at + 1) for at in range(3, 40, 4))
    good, index = _entries(">qi", times), _entries(">ii", GOOD)
    shapes = [
        good,
        b"",
        good + bytes(12 * 20),
        bytes(12 * 20),
        good[:-5],
        _entries(">qi", ((4001, 7), (5000, 9), (5000, 11), (4000, 13))),
        _entries(">qi", ((4001, 6), (9000, 500), (9001, 501))),
        _entries(">qi", ((4001, 7), (4000, -3))),
        _entries(">qi", ((4001, 7), (5000, -3))),
        _entries(">qi", ((-1, 1), (-2, 3))),
    ]
    indexes = [index, index + bytes(8 * 50), b"", bytes(8 * 2000)]
    for shape in shapes:
        for beside in indexes:
            yield (
                f"{NAME}.timeindex",
                {f"{NAME}.log": WHOLE, f"{NAME}.index": beside, f"{NAME}.timeindex": shape},
            )
    for spec_name in ("plain-none", "plain-gzip", "nulls-gzip"):
        old = write_ours(dict(samples.legacy_specs(1))[spec_name])
        yield (
            f"{NAME}.timeindex",
            {
                f"{NAME}.log": old,
                f"{NAME}.index": b"",
                f"{NAME}.timeindex": _entries(">qi", ((samples.NOON, 2), (samples.NOON + 14, 2))),
            },
        )
    yield (
        f"{NAME}.timeindex",
        {
            f"{NAME}.log": changed(LOG[0], 57, struct.pack(">i", 0)),
            f"{NAME}.index": b"",
            f"{NAME}.timeindex": _entries(">qi", ((5, 1),)),
        },
    )
    yield f"{NAME}.timeindex", {f"{NAME}.log": WHOLE, f"{NAME}.index": index}
    far = _entries(">ii", ((7, len(WHOLE) + 5),))
    yield (
        f"{NAME}.timeindex",
        {f"{NAME}.log": WHOLE, f"{NAME}.index": far, f"{NAME}.timeindex": good},
    )


def _transactions() -> Iterator[tuple[str, "bytes | None"]]:
    entry = struct.pack(">hqqqq", 0, 1, 0, 29, 8)
    yield f"{NAME}.txnindex", entry + struct.pack(">hqqqq", 0, 2, 31, 40, 41)
    yield f"{NAME}.txnindex", entry + entry[:20]
    yield f"{NAME}.txnindex", entry + struct.pack(">hqqqq", 7, 2, 31, 40, 41)
    yield f"{NAME}.txnindex", entry + struct.pack(">hqqqq", 256, 2, 31, 40, 41)
    yield f"{NAME}.txnindex", struct.pack(">hqqqq", -1, 2, 31, 40, 41)
    yield f"{NAME}.txnindex", b""
    yield f"{NAME}.txnindex", None
    yield "none.txnindex", entry


def _producers() -> Iterator[tuple[str, bytes]]:
    rows = (
        (7, 1, 5, 42, 0, 1000, -1, -1),
        (8, 0, -1, -1, 0, 1000, 9, -1),
        (9, 3, 2, 50, 4, 1000, 9, 46),
    )
    body = struct.pack(">i", len(rows)) + _entries(">qhiqiqiq", rows)
    good = struct.pack(">hI", 1, crc32c(body)) + body
    yield f"{NAME}.snapshot", good
    yield f"{NAME}.snapshot", good + b"more"
    yield f"{NAME}.snapshot", good[:-1] + b"\x01"
    for version in (0, 2, -1):
        yield f"{NAME}.snapshot", struct.pack(">h", version) + good[2:]
    for count in (-1, 4, 10**6):
        yield f"{NAME}.snapshot", good[:6] + struct.pack(">i", count) + good[10:]
    for cut in (0, 1, 2, 5, 8, 20):
        yield f"{NAME}.snapshot", good[:cut]
