"""Batches for tests that read records through: valid ones, and ones with a single fault each."""

from cordwood.core.binary import INT64_MAX
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.batch_stream import AnyBatch, batch_at
from cordwood.records.compression import Codec
from tests.unit.records import segments

#: A record is 7 bytes of overhead, a byte of key and a byte of value; the header before it is 61.
FIRST_DELTA = 61 + 3
SECOND_DELTA = FIRST_DELTA + 9


def at_start(data: bytes | bytearray) -> AnyBatch:
    """Return the batch that a buffer begins with."""
    batch = batch_at(data, 0)
    assert batch is not None
    return batch


def three(
    codec: Codec = Codec.NONE, *, base_offset: int = 0, log_append_time_ms: int | None = None
) -> bytes:
    """Return a v2 batch of three records, the second of them without a key."""
    builder = BatchBuilder(
        BatchFields(base_offset=base_offset, codec=codec, log_append_time_ms=log_append_time_ms)
    )
    for key, timestamp in ((b"k", 1005), (None, 1009), (b"k", 1001)):
        builder.append(key, b"v", timestamp=timestamp, headers=(("h", None),))
    return bytes(builder.build())


def keyed() -> bytes:
    """Return a v2 batch of two records of nine bytes."""
    builder = BatchBuilder()
    builder.append(b"k", b"v", timestamp=1000)
    builder.append(b"k", b"v", timestamp=1000)
    return bytes(builder.build())


#: Rejected batches, by their fault.
UNSOUND = {
    "negative base offset": segments.changed(keyed(), 0, b"\xff" * 8),
    "offsets beyond 64 bits": segments.changed(keyed(), 0, INT64_MAX.to_bytes(8)),
    "negative last delta": segments.changed(keyed(), 23, b"\xff" * 4),
    "last delta too low": segments.changed(keyed(), 23, b"\0\0\0\0"),
    "negative count": segments.changed(keyed(), 57, b"\xff" * 4),
    "more records than bytes": segments.changed(keyed(), 57, b"\x7f\xff\xff\xff"),
    "one record too many": segments.changed(keyed(), 57, b"\0\0\0\1"),
    "one record too few": segments.changed(three(), 57, b"\0\0\0\4"),
    "a record cut": segments.changed(keyed(), 61, b"\x7e"),
    "deltas that stand still": segments.changed(keyed(), SECOND_DELTA, b"\0"),
    "a negative delta": segments.changed(keyed(), FIRST_DELTA, b"\1"),
    "unknown codec": segments.changed(keyed(), 21, b"\0\7"),
    "no gzip": segments.changed(keyed(), 21, b"\0\1"),
}
