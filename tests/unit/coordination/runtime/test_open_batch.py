"""Tests of the batch of several outcomes."""

from concurrent.futures import Future

from cordwood.coordination.runtime.open_batch import MOST_BYTES, OpenBatch
from cordwood.core.ports import Pending
from cordwood.records.compression import Codec
from cordwood.records.record_batch import RecordBatch
from tests.unit.coordination.runtime.runtime_samples import group_record


class BatchHarness:
    """An open batch; `appended` are the batches in the log."""

    def __init__(self, *, most_bytes: int = 1 << 20, codec: Codec = Codec.NONE) -> None:
        self.appended = list[RecordBatch]()
        self.batch = OpenBatch(self._append, most_bytes=most_bytes, codec=codec)

    def _append(self, batch: bytearray) -> Pending[int]:
        self.appended.append(RecordBatch(batch))
        pending = Future[int]()
        pending.set_result(7)
        return pending


def test_records_of_several_outcomes_are_one_batch() -> None:
    harness = BatchHarness()

    harness.batch.add([group_record("g"), group_record("h")], 5)
    harness.batch.add([group_record("i")], 6)
    pending = harness.batch.append()

    assert [each.timestamp for each in harness.appended[0].records()] == [5, 5, 6]
    assert pending.result() == 7


def test_batch_has_the_codec_of_the_topic() -> None:
    harness = BatchHarness(codec=Codec.ZSTD)

    harness.batch.add([group_record("g")], 5)
    harness.batch.append()

    assert harness.appended[0].codec is Codec.ZSTD


def test_outcome_beyond_the_limit_adds_nothing() -> None:
    harness = BatchHarness(most_bytes=200)

    added = [harness.batch.add([group_record("g"), group_record("h")], 5) for _ in range(2)]
    harness.batch.append()

    assert added == [True, False]
    assert harness.appended[0].count == 2


def test_batch_is_never_larger_than_its_limit() -> None:
    harness = BatchHarness()

    while harness.batch.add([group_record("group")], 5):
        pass
    harness.batch.append()

    assert MOST_BYTES - 100 < harness.appended[0].size <= MOST_BYTES
