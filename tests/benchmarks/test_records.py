"""The segments that the records benchmark reads."""

from benchmarks.micro.records import segment
from cordwood.records.batch_stream import batches


def test_segment_holds_batches_that_follow_each_other() -> None:
    small = segment(100, 50_000, batch_bytes=4096)

    found = list(batches(small.data))

    assert sum(batch.count for batch in found) == small.records
    assert all(batch.is_crc_valid() for batch in found)
    assert [batch.base_offset for batch in found[1:]] == [batch.next_offset for batch in found[:-1]]
