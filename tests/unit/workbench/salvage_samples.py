"""Damaged log files, and partition directories with them."""

import struct
from collections.abc import Callable, Sequence

from cordwood.core.ports import Ports
from cordwood.core.types import LeaderEpoch, Offset
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.batch_checks import PlainBatchChecker
from cordwood.records.batch_header import BatchHeader, read_header
from cordwood.records.compression import Codec
from cordwood.records.control_records import EndTransaction, control_batch
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import VirtualClock
from cordwood.workbench.salvage.batch_chain import BatchChain, build_chain
from cordwood.workbench.salvage.batch_run import SalvagedRun, SourceWindows, runs_of
from cordwood.workbench.salvage.batch_scan import DamagedRange, Piece, scan_file
from cordwood.workbench.salvage.file_bounds import FileBounds
from cordwood.workbench.salvage.indexed_offsets import IndexedOffsets, indexed_offsets
from tests.unit.workbench.dump_samples import FOLDER, files_of, window_of

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


def marker(base_offset: int, *, is_commit: bool = True, producer_id: int = 7) -> bytes:
    """Return the marker that commits or aborts a transaction."""
    fields = BatchFields(
        base_offset=base_offset,
        partition_leader_epoch=0,
        producer_id=producer_id,
        producer_epoch=0,
    )
    control = EndTransaction(is_commit=is_commit, coordinator_epoch=0)
    return bytes(control_batch(control, fields, timestamp=1000))


def harmed(data: bytes, *places: int, mask: int = 0x55) -> bytes:
    """Return the bytes with some of them changed."""
    out = bytearray(data)
    for at in places:
        out[at] ^= mask
    return bytes(out)


def broken(data: bytes) -> bytes:
    """Return a batch with damaged fields, of the right size and base offset."""
    return data[:20] + b"\7" * 30 + data[50:]


def entries(*aborted: tuple[int, int, int]) -> bytes:
    """Return a transaction index: producer, first offset, offset of the marker."""
    return b"".join(struct.pack(">hqqqq", 0, *each, each[2] + 1) for each in aborted)


def headed(data: bytes) -> BatchHeader:
    header = read_header(data)
    assert header is not None
    return header


def found_in(data: bytes) -> list[Piece]:
    return list(scan_file(window_of(data), PlainBatchChecker()))


def chain_of(
    data: bytes,
    file: str = "file",
    *,
    bounds: FileBounds = FileBounds(),  # noqa: B008 - a value
    epoch_for: Callable[[Offset], LeaderEpoch | None] = lambda _: None,
) -> BatchChain:
    """Return the batches of a file with these bytes, in order."""
    window = window_of(data)
    return build_chain(file, scan_file(window), window=window, bounds=bounds, epoch_for=epoch_for)


def runs_in(contents: dict[str, bytes]) -> tuple[list[list[SalvagedRun]], SourceWindows]:
    """Return the runs of each file, and windows over the files."""
    windows = SourceWindows(files_of(contents))
    runs = [
        list(runs_of(chain_of(data, f"{FOLDER}/{name}").batches)) for name, data in contents.items()
    ]
    return runs, windows


def idempotent(base_offset: int, count: int = 1) -> bytes:
    """Return a batch of the same producer outside of transactions."""
    return transactional(base_offset, count, is_transactional=False)


def transactional(
    base_offset: int, count: int = 1, *, producer_id: int = 7, is_transactional: bool = True
) -> bytes:
    """Return a batch of a transaction."""
    fields = BatchFields(
        base_offset=base_offset,
        partition_leader_epoch=0,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=base_offset,
        is_transactional=is_transactional,
    )
    builder = BatchBuilder(fields)
    for at in range(count):
        builder.append(b"k%d" % at, b"value", timestamp=1000 + at)
    return bytes(builder.build())


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


def indexes(
    base: int, times: bytes = b"", positions: bytes = b"", *, aborts: bytes = b""
) -> IndexedOffsets:
    """Return the indexes of a segment with these entries."""
    contents = {
        f"{base:020}.timeindex": times,
        f"{base:020}.index": positions,
        f"{base:020}.txnindex": aborts,
    }
    return indexed_offsets(directory(contents), SOURCE, base=base)


def ports(files: MemoryFiles) -> Ports:
    return Ports(files=files, clock=VirtualClock(), random=SeededRandom(1))
