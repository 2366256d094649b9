"""Log of a compacted topic for benchmarks: few keys, overwritten repeatedly, in any size.

Keys are 16 bytes, values 100, and a batch has 128 records. So all records of one position in a
batch have the same layout, and batches are written as columns of bytes, a gigabyte in a few
seconds. A seeded random number chooses the key of a record; values compress about fourfold.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cordwood.core.binary import crc32c
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.compression import Codec, compress
from cordwood.records.record_batch import CRC_START, HEADER_SIZE

BATCH_RECORDS: Final = 128
KEY_BYTES: Final = 16
VALUE_BYTES: Final = 100
FIRST_TIMESTAMP: Final = 1_600_000_000_000

_Bytes = NDArray[np.uint8]


class KeyedLog(NamedTuple):
    """The written log; `records` is rounded up to whole batches."""

    records: int
    keys: int
    codec: Codec = Codec.NONE
    seed: int = 1

    def batches(self) -> Iterator[bytes]:
        """Yield the batches, in order."""
        chance = np.random.default_rng(self.seed)
        template = _Template()
        for number in range(-(-self.records // BATCH_RECORDS)):
            keys = chance.integers(0, self.keys, BATCH_RECORDS)
            yield template.batch(number * BATCH_RECORDS, keys, chance, self.codec)


class Written(NamedTuple):
    """A partition directory: segments' base offsets, and the offset behind the last record."""

    base_offsets: tuple[int, ...]
    end_offset: int
    size: int


def write(log: KeyedLog, directory: Path, *, segment_bytes: int = 1 << 30) -> Written:
    """Write the segments of a log, without indexes: the log builds them when it is opened."""
    directory.mkdir(parents=True)
    bases, offset, total, room = list[int](), 0, 0, 0
    out = None
    for batch in log.batches():
        if out is None or len(batch) > room:
            if out is not None:
                out.close()
            bases.append(offset)
            room = segment_bytes
            out = (directory / f"{offset:020}.log").open("wb")
        out.write(batch)
        offset += BATCH_RECORDS
        total += len(batch)
        room -= len(batch)
    if out is not None:
        out.close()
    return Written(tuple(bases), offset, total)


class _Template:
    """One batch, in which keys, values, and numbers of the header are overwritten."""

    def __init__(self) -> None:
        builder = BatchBuilder(BatchFields(base_offset=0))
        for place in range(BATCH_RECORDS):
            builder.append(_mark(place), bytes(VALUE_BYTES), timestamp=FIRST_TIMESTAMP + place // 8)
        data = bytes(builder.build())
        self._data = np.frombuffer(data, np.uint8).copy()
        starts = np.array([data.index(_mark(place)) for place in range(BATCH_RECORDS)])
        self._keys = starts[:, None] + np.arange(KEY_BYTES)
        self._values = starts[:, None] + KEY_BYTES + 2 + np.arange(VALUE_BYTES)

    def batch(
        self, base_offset: int, keys: NDArray[np.int64], chance: np.random.Generator, codec: Codec
    ) -> bytes:
        """Return the batch of these keys."""
        data = self._data
        data[self._keys] = _digits(keys)
        data[self._values] = _values(chance)
        made = bytearray(data)
        if codec:
            made[HEADER_SIZE:] = compress(codec, memoryview(made)[HEADER_SIZE:])
            made[22] |= codec
        made[0:8] = base_offset.to_bytes(8)
        made[8:12] = (len(made) - 12).to_bytes(4)
        made[17:21] = crc32c(memoryview(made)[CRC_START:]).to_bytes(4)
        return bytes(made)


def _mark(place: int) -> bytes:
    return b"key number %05d" % place


def _digits(keys: NDArray[np.int64]) -> _Bytes:
    """Return each key as 16 digits."""
    powers = 10 ** np.arange(KEY_BYTES - 1, -1, -1)
    return (keys[:, None] // powers % 10 + ord("0")).astype(np.uint8)


def _values(chance: np.random.Generator) -> _Bytes:
    """Return values of which a quarter is chance."""
    values = np.full((BATCH_RECORDS, VALUE_BYTES), ord("v"), np.uint8)
    values[:, ::4] = chance.integers(0, 256, (BATCH_RECORDS, VALUE_BYTES // 4), np.uint8)
    return values
