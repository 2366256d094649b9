"""Damaged log files, and the directories they lie in."""

from collections.abc import Sequence

from cordwood.records.builder import BatchBuilder, BatchFields
from cordwood.records.compression import Codec
from cordwood.records.control import EndTransaction, control_batch
from cordwood.records.header import BatchHeader, read_header
from cordwood.testing.clock import VirtualClock
from cordwood.testing.files import MemoryFiles
from cordwood.testing.random import SeededRandom
from cordwood.workbench.salvage import SalvageTools
from cordwood.workbench.salvage_batches import Damage, Piece, pieces
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


def marker(base_offset: int) -> bytes:
    """Return the end of a transaction."""
    fields = BatchFields(base_offset=base_offset, producer_id=7, producer_epoch=0)
    return bytes(
        control_batch(EndTransaction(is_commit=True, coordinator_epoch=0), fields, timestamp=1000)
    )


def harmed(data: bytes, *places: int, mask: int = 0x55) -> bytes:
    """Return bytes of which some are wrong."""
    out = bytearray(data)
    for at in places:
        out[at] ^= mask
    return bytes(out)


def headed(data: bytes) -> BatchHeader:
    header = read_header(data)
    assert header is not None
    return header


def found_in(data: bytes) -> list[Piece]:
    return list(pieces(window_of(data)))


def offsets_of(found: Sequence[Piece]) -> list[tuple[int, int] | None]:
    """Return the offsets of each batch; None of what is damaged."""
    return [
        None if isinstance(piece, Damage) else (piece.header.base_offset, piece.header.last_offset)
        for piece in found
    ]


def directory(contents: dict[str, bytes], *, beside: dict[str, bytes] | None = None) -> MemoryFiles:
    """Return a partition's directory in its log directory."""
    files = MemoryFiles(VirtualClock())
    for path in ("/logs", SOURCE):
        files.make_directory(path)
    for folder, given in ((SOURCE, contents), ("/logs", beside or {})):
        for name, data in given.items():
            files.create(f"{folder}/{name}").append(data)
    return files


def tools(files: MemoryFiles) -> SalvageTools:
    return SalvageTools(files=files, clock=VirtualClock(), random=SeededRandom(1))
