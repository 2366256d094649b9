"""Damaged log files, and partition directories with them."""

from collections.abc import Sequence

from cordwood.core.ports import Ports
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.batch_header import BatchHeader, read_header
from cordwood.records.compression import Codec
from cordwood.records.control_records import EndTransaction, control_batch
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import VirtualClock
from cordwood.workbench.salvage.batch_scan import DamagedRange, Piece, scan_file
from tests.unit.workbench.dump_samples import window_of

SOURCE = "/logs/t-0"


def batch(
    base_offset: int = 0,
    count: int = 4,
    *,
    epoch: int = 0,
    codec: Codec = Codec.NONE,
    value: bytes = b"value",
) -> bytes:
    """Return a batch of records k0, k1, ..."""
    fields = BatchFields(base_offset=base_offset, partition_leader_epoch=epoch, codec=codec)
    builder = BatchBuilder(fields)
    for at in range(count):
        builder.append(b"k%d" % at, value, timestamp=1000 + at)
    return bytes(builder.build())


def cleaned_batch(base_offset: int) -> bytes:
    """Return a batch of four offsets and one record, as a cleaner leaves it."""
    builder = BatchBuilder(BatchFields(base_offset=base_offset))
    builder.append(b"k0", b"value", timestamp=1000)
    return bytes(builder.build(last_offset=base_offset + 3))


def marker(base_offset: int) -> bytes:
    """Return the commit marker of a transaction."""
    fields = BatchFields(base_offset=base_offset, producer_id=7, producer_epoch=0)
    return bytes(
        control_batch(EndTransaction(is_commit=True, coordinator_epoch=0), fields, timestamp=1000)
    )


def harmed(data: bytes, *places: int, mask: int = 0x55) -> bytes:
    """Return the bytes with some of them changed."""
    out = bytearray(data)
    for at in places:
        out[at] ^= mask
    return bytes(out)


def headed(data: bytes) -> BatchHeader:
    header = read_header(data)
    assert header is not None
    return header


def found_in(data: bytes) -> list[Piece]:
    return list(scan_file(window_of(data)))


def offsets_of(found: Sequence[Piece]) -> list[tuple[int, int] | None]:
    """Return the offsets of each batch, None for a damaged range."""
    return [
        None
        if isinstance(piece, DamagedRange)
        else (piece.header.base_offset, piece.header.last_offset)
        for piece in found
    ]


def directory(contents: dict[str, bytes], *, beside: dict[str, bytes] | None = None) -> MemoryFiles:
    """Return the directory of a partition in a log directory."""
    files = MemoryFiles(VirtualClock())
    for path in ("/logs", SOURCE):
        files.make_directory(path)
    for folder, given in ((SOURCE, contents), ("/logs", beside or {})):
        for name, data in given.items():
            files.create(f"{folder}/{name}").append(data)
    return files


def ports(files: MemoryFiles) -> Ports:
    return Ports(files=files, clock=VirtualClock(), random=SeededRandom(1))
