"""Large logs in little time: one batch repeated, whose base offset is outside of its CRC."""

from pathlib import Path
from typing import Final

from cordwood.records.batch_builder import BatchBuilder, BatchFields

SEGMENT_BYTES: Final = 1 << 30
VALUE_BYTES: Final = 1 << 20
OFFSET_BYTES: Final = 8
COUNT: Final = slice(57, 61)
#: At least the bytes before the value in a batch of one record.
HEAD_BYTES: Final = 100


def sparse_log(directory: Path, size: int) -> int:
    """Write a sparse log, whose values are unallocated; return the number of records."""
    batch = _batch(records=1, value=bytes(VALUE_BYTES))
    return _repeated(directory, batch, size=size, head=HEAD_BYTES)


def real_log(directory: Path, size: int) -> int:
    """Write a log of small records; return their number."""
    batch = _batch(records=1000, value=b"0123456789" * 10)
    return _repeated(directory, batch, size=size, head=len(batch) - 1)


def _batch(*, records: int, value: bytes) -> bytes:
    builder = BatchBuilder(BatchFields())
    for _ in range(records):
        builder.append(None, value, timestamp=1000)
    return bytes(builder.build())


def _repeated(directory: Path, batch: bytes, *, size: int, head: int) -> int:
    """Write the head and the last byte of each batch, and leave the rest unallocated."""
    records = int.from_bytes(batch[COUNT], "big")
    count, a_segment = size // len(batch), SEGMENT_BYTES // len(batch)
    directory.mkdir(parents=True)
    for first in range(0, count, a_segment):
        with (directory / f"{first * records:020}.log").open("wb") as file:
            for number in range(min(a_segment, count - first)):
                offset = (first + number) * records
                file.seek(number * len(batch))
                file.write(offset.to_bytes(OFFSET_BYTES, "big") + batch[OFFSET_BYTES:head])
                file.seek((number + 1) * len(batch) - 1)
                file.write(batch[-1:])
    return count * records
