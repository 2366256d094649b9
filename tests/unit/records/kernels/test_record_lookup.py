"""The first record at or after a timestamp, found by the kernel: the same as record by record."""

from itertools import product

import pytest

from cordwood.core.binary import INT64_MAX, INT64_MIN
from cordwood.core.errors import BadRecordsError, InvalidRecordError
from cordwood.records.batch_builder import BatchBuilder, BatchFields, empty_batch
from cordwood.records.batch_stream import AnyBatch
from cordwood.records.compression import Codec
from cordwood.records.kernels import record_lookup
from cordwood.records.kernels.record_lookup import KernelRecordFinder
from cordwood.records.record_batch import RecordBatch
from cordwood.records.record_lookup import PlainRecordFinder, RecordFinder, RecordPosition
from tests.unit.records.inspected import UNSOUND, at_start, keyed, three
from tests.unit.records.segments import changed, legacy

PLAIN = PlainRecordFinder()
TIMES = (INT64_MIN, -1, 0, 1000, 1001, 1004, 1005, 1006, 1009, 1010, 5000, 5001, INT64_MAX)
OFFSETS = (0, 1, 2, 3, 7, 8, 9, 10, INT64_MAX)
#: Past the batch, so that every record is read.
NOWHERE = (INT64_MAX, INT64_MAX)


def with_gaps() -> bytes:
    """Return a batch of four records at the offsets 1, 4, 5 and 9, of a cleaned log."""
    builder = BatchBuilder(BatchFields(base_offset=1))
    for offset, timestamp in ((1, 1004), (4, 1001), (5, 1009), (9, 1010)):
        builder.append(b"k", b"v", timestamp=timestamp, offset=offset)
    return bytes(builder.build())


SOUND = {
    "as it lies": three(base_offset=7),
    "lz4": three(Codec.LZ4, base_offset=7),
    "with gaps": with_gaps(),
    "dated by the log": three(log_append_time_ms=5000),
    "dated before the epoch": changed(three(log_append_time_ms=5000), 35, b"\xff" * 7 + b"\xf0"),
    "without a time": changed(keyed(), 27, b"\xff" * 8),
    "a time that wraps": changed(three(), 27, INT64_MAX.to_bytes(8)),
    "the first time there is": changed(three(), 27, INT64_MIN.to_bytes(8, signed=True)),
    "no records": bytes(empty_batch(BatchFields(), last_offset=4, max_timestamp=9)),
    "message": legacy(1, b"a"),
    "wrapper": legacy(0, b"a", b"b", codec=Codec.SNAPPY),
}


def find(
    finder: RecordFinder, batch: AnyBatch, timestamp: int, first_offset: int
) -> RecordPosition | None:
    return finder.find(batch, timestamp=timestamp, first_offset=first_offset)


@pytest.mark.parametrize("data", SOUND.values(), ids=SOUND.keys())
def test_kernel_finds_the_same_record_as_the_plain_finder(data: bytes) -> None:
    batch, kernel = at_start(data), KernelRecordFinder()

    for question in product(TIMES, OFFSETS):
        assert find(kernel, batch, *question) == find(PLAIN, batch, *question), question


@pytest.mark.parametrize("question", ((0, 0), (1000, 1), (1001, 0), NOWHERE))
@pytest.mark.parametrize("data", UNSOUND.values(), ids=UNSOUND.keys())
def test_kernel_has_the_same_outcome_for_an_invalid_batch(
    data: bytes, question: tuple[int, int]
) -> None:
    batch = at_start(data)

    def outcome(finder: RecordFinder) -> object:
        try:
            return find(finder, batch, *question)
        except BadRecordsError as error:
            return type(error), str(error)

    assert outcome(KernelRecordFinder()) == outcome(PLAIN)


def test_kernel_reads_a_batch_between_others() -> None:
    batch = RecordBatch(keyed() + three() + keyed(), len(keyed()))

    assert find(KernelRecordFinder(), batch, 1006, 0) == (1009, 1)


def test_batch_that_only_the_kernel_rejects_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_lookup, "find_record", lambda *_: (-1, -1, 0))

    with pytest.raises(InvalidRecordError, match="that the plain reader accepts"):
        find(KernelRecordFinder(), at_start(keyed()), 0, 0)
