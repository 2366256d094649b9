"""The facts of a batch, found by the kernel: the same as record by record, valid or not."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from cordwood.core.binary import INT64_MAX, INT64_MIN
from cordwood.core.errors import BadRecordsError, InvalidRecordError
from cordwood.records.batch_builder import BatchBuilder, BatchFields, empty_batch
from cordwood.records.compression import Codec
from cordwood.records.kernels import record_checks
from cordwood.records.kernels.arena import ARENA_BYTES
from cordwood.records.kernels.record_checks import KernelInspector, read_through
from cordwood.records.record_batch import HEADER_SIZE, RecordBatch
from cordwood.records.record_checks import BatchFacts, PlainInspector
from tests.unit.records.inspected import UNSOUND, at_start, keyed, three
from tests.unit.records.kernels.words import source_of
from tests.unit.records.segments import changed, legacy

PLAIN = PlainInspector()


def large(size: int) -> bytes:
    """Return a compressed batch of one value of `size` bytes."""
    builder = BatchBuilder(BatchFields(codec=Codec.LZ4))
    builder.append(None, bytes(size))
    return bytes(builder.build())


SOUND = {
    "as it lies": three(base_offset=7),
    "gzip": three(Codec.GZIP),
    "larger than the room": large(ARENA_BYTES),
    "dated by the log": three(log_append_time_ms=5000),
    "dated before the epoch": changed(three(log_append_time_ms=5000), 35, b"\xff" * 7 + b"\xf0"),
    "without a time": changed(keyed(), 27, b"\xff" * 8),
    "the last time there is": changed(keyed(), 27, INT64_MAX.to_bytes(8)),
    "a time that wraps": changed(three(), 27, INT64_MAX.to_bytes(8)),
    "the first time there is": changed(three(), 27, INT64_MIN.to_bytes(8, signed=True)),
    "no records": bytes(empty_batch(BatchFields(), last_offset=4, max_timestamp=9)),
    "no records, dated": bytes(
        empty_batch(BatchFields(log_append_time_ms=1), last_offset=4, max_timestamp=9)
    ),
    "message": legacy(1, b"a"),
    "wrapper": legacy(0, b"a", b"b", codec=Codec.SNAPPY),
}


@pytest.mark.parametrize("data", SOUND.values(), ids=SOUND.keys())
def test_kernel_finds_the_same_as_the_plain_inspector(data: bytes) -> None:
    batch = at_start(data)

    assert KernelInspector().inspect(batch) == PLAIN.inspect(batch)


@pytest.mark.parametrize("data", UNSOUND.values(), ids=UNSOUND.keys())
def test_kernel_raises_the_same_error_as_the_plain_inspector(data: bytes) -> None:
    batch = at_start(data)

    with pytest.raises(BadRecordsError) as expected:
        PLAIN.inspect(batch)
    with pytest.raises(type(expected.value)) as found:
        KernelInspector().inspect(batch)

    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("data", (three(Codec.ZSTD), large(2 * ARENA_BYTES)))
def test_kernel_rejects_a_batch_above_the_limit(data: bytes) -> None:
    with pytest.raises(BadRecordsError, match="larger than the limit"):
        KernelInspector().inspect(at_start(data), limit=10)


def test_kernel_reads_a_batch_between_others() -> None:
    batch = RecordBatch(keyed() + three() + keyed(), len(keyed()))

    assert KernelInspector().inspect(batch)[:3] == (3, 0, True)


def test_kernel_keeps_no_state_between_batches() -> None:
    inspector = KernelInspector()
    inspector.inspect(at_start(three(Codec.LZ4)))

    assert inspector.inspect(at_start(packed_keyed())) == PLAIN.inspect(at_start(keyed()))


def test_kernel_reads_batches_on_several_threads() -> None:
    """Decompressed records of one thread do not replace those of another."""
    sets = [three(Codec.LZ4), packed_keyed()]
    expected = [PLAIN.inspect(at_start(each)) for each in sets]
    inspector = KernelInspector()
    barrier = Barrier(len(sets))

    def inspect(data: bytes) -> set[BatchFacts]:
        barrier.wait()
        return {inspector.inspect(at_start(data)) for _ in range(3000)}

    with ThreadPoolExecutor(len(sets)) as threads:
        found = list(threads.map(inspect, sets))

    assert found == [{each} for each in expected]


def packed_keyed() -> bytes:
    """Return the two records that have keys, compressed."""
    builder = BatchBuilder(BatchFields(codec=Codec.LZ4))
    for record in RecordBatch(keyed()).records():
        builder.append_record(record)
    return bytes(builder.build())


def test_batch_that_only_the_kernel_rejects_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_checks, "read_through", lambda *_: (-1, 0, 0, 0))

    with pytest.raises(InvalidRecordError, match="that the plain reader accepts"):
        KernelInspector().inspect(at_start(keyed()))


@pytest.mark.parametrize(("cut", "count"), ((1, 2), (0, 1), (0, 3)))
def test_read_through_fails_when_record_count_and_bytes_differ(cut: int, count: int) -> None:
    data = keyed()

    found = read_through(source_of(data), HEADER_SIZE, len(data) - cut, count, 9, 0)

    assert found[0] == -1
