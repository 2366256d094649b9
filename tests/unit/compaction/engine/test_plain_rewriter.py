"""The retained part of each batch, byte for byte."""

import pytest

from cordwood.compaction.certificate import PassCounts
from cordwood.compaction.engine.batch_retention import BatchRetention
from cordwood.compaction.engine.plain_rewriter import PlainRewriter
from cordwood.compaction.engine.segment_chunk import SegmentChunk
from cordwood.compaction.key_hash import record_hash, stream_with
from cordwood.compaction.plan.cleaning_plan import CleaningPlan
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.batch_stream import batches
from cordwood.records.compression import Codec
from cordwood.records.legacy_builder import LegacyMagic
from cordwood.records.record import TimestampType
from cordwood.records.record_batch import RecordBatch
from tests.unit.compaction.compaction_samples import (
    HORIZON,
    NOW,
    batch,
    chunk,
    empty,
    marker,
    marks,
    old,
    only,
    plan,
    sent,
    texts,
    with_horizon,
)

KEEPS_EMPTY = {0: BatchRetention.RETAIN_EMPTY}
OLD: tuple[LegacyMagic, ...] = (0, 1)
CODECS = (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD)


def rewritten(
    data: SegmentChunk,
    letters: str,
    *,
    given: CleaningPlan | None = None,
    counts: PassCounts | None = None,
) -> bytes:
    rewriter = PlainRewriter(given or plan())
    return bytes(rewriter.rewrite(data, marks(letters), counts=counts or PassCounts()))


def test_batch_that_stays_whole_is_copied() -> None:
    data = batch(0, "a1 b2") + sent(2, "c3")

    assert rewritten(chunk(data), "ooo") == data


def test_superseded_records_are_removed() -> None:
    assert texts(rewritten(chunk(batch(0, "a1 b2 a3"), batch(3, "b4")), "xxoo")) == ["2:a3", "3:b4"]


@pytest.mark.parametrize("codec", CODECS)
def test_filtered_batch_keeps_its_header_and_the_bytes_of_records(codec: Codec) -> None:
    fields = BatchFields(
        partition_leader_epoch=4,
        codec=codec,
        producer_id=7,
        producer_epoch=2,
        base_sequence=5,
        is_transactional=True,
    )
    before = RecordBatch(batch(10, "a1 b2 a3 c4", fields=fields))

    after = only(rewritten(chunk(bytes(before.data)), "xoox"))

    assert isinstance(after, RecordBatch)
    assert BatchFields.of(after) == BatchFields.of(before)
    assert (after.last_offset, after.count) == (13, 2)
    assert (after.base_timestamp, after.max_timestamp) == (NOW, NOW + 2)
    data = before.uncompressed()
    ends = [record.end for record in before.raw_records(data)]
    assert after.uncompressed() == data[ends[0] : ends[2]]


@pytest.mark.parametrize("time", (NOW + 50, -5))
def test_filtered_batch_of_log_append_time_keeps_its_time(time: int) -> None:
    before = batch(0, "a1 b2", fields=BatchFields(log_append_time_ms=time))

    after = only(rewritten(chunk(before), "ox"))

    assert (after.max_timestamp, after.timestamp_type) == (time, TimestampType.LOG_APPEND_TIME)


def test_filtered_batch_without_record_timestamps_has_no_max_timestamp() -> None:
    before = batch(0, "a1 b2", time=-1)

    assert only(rewritten(chunk(before), "ox")).max_timestamp == -1


def test_batch_without_surviving_records_is_removed() -> None:
    counts = PassCounts()

    assert rewritten(chunk(batch(0, "a1 b2")), "xx", counts=counts) == b""
    assert (counts.batches_read, counts.batches_kept) == (1, 0)


def test_batch_without_surviving_records_becomes_a_header_when_retained_empty() -> None:
    before = sent(4, "a1 b2")

    assert rewritten(chunk(before, retentions=KEEPS_EMPTY), "xx") == empty(before)


def test_empty_header_is_removed_unless_it_is_retained_empty() -> None:
    assert rewritten(chunk(empty(sent(4, "a1"))), "") == b""
    assert rewritten(chunk(empty(sent(4, "a1")), retentions=KEEPS_EMPTY), "") == empty(
        sent(4, "a1")
    )


def test_tombstone_sets_the_horizon_of_its_batch() -> None:
    before = batch(0, "a1 b- c3")

    after = only(rewritten(chunk(before), "oto"))

    assert after.delete_horizon_ms == HORIZON
    assert list(after.records()) == list(RecordBatch(before).records())


def test_tombstone_sets_no_horizon_again() -> None:
    before = with_horizon(batch(0, "a1 b- c3"))

    assert rewritten(chunk(before), "oto") == before


def test_filtered_batch_keeps_its_horizon() -> None:
    after = only(rewritten(chunk(with_horizon(batch(0, "a1 b- c3"))), "xto"))

    assert after.delete_horizon_ms == HORIZON
    assert [record.timestamp for record in after.records()] == [NOW + 1, NOW + 2]


def test_tombstone_is_removed_at_its_delete_horizon() -> None:
    before = with_horizon(batch(0, "a1 b-"))

    early = rewritten(chunk(before), "ot", given=plan(now_ms=HORIZON - 1))
    late = rewritten(chunk(before), "ot", given=plan(now_ms=HORIZON))

    assert (texts(early), texts(late)) == (["0:a1", "1:b-"], ["0:a1"])


def test_superseded_tombstone_sets_no_horizon() -> None:
    before = batch(0, "a- b2")

    assert only(rewritten(chunk(before), "xo")).delete_horizon_ms is None


@pytest.mark.parametrize("codec", CODECS)
def test_horizon_is_set_in_compressed_batches(codec: Codec) -> None:
    before = batch(0, "a- b2", fields=BatchFields(codec=codec), time=5)

    after = only(rewritten(chunk(before), "to"))

    assert (after.codec, after.delete_horizon_ms) == (codec, HORIZON)
    assert [record.timestamp for record in after.records()] == [5, 6]


def test_deleted_data_is_removed_or_leaves_an_empty_header() -> None:
    aborted = sent(0, "a1 b2")
    retentions = {0: BatchRetention.DELETE, 1: BatchRetention.DELETE | BatchRetention.RETAIN_EMPTY}
    counts = PassCounts()

    after = rewritten(chunk(aborted, aborted, retentions=retentions), "oooo", counts=counts)

    assert after == empty(aborted)
    assert (counts.aborted, counts.records_kept) == (4, 0)


def test_marker_is_copied_deleted_emptied_or_gets_a_horizon_by_its_retention() -> None:
    commit = marker(0, is_commit=True)
    retentions = {
        0: BatchRetention.CONTROL,
        1: BatchRetention.CONTROL | BatchRetention.DELETE,
        2: BatchRetention.CONTROL | BatchRetention.DELETE | BatchRetention.RETAIN_EMPTY,
        3: BatchRetention.CONTROL | BatchRetention.NEEDS_HORIZON,
    }
    counts = PassCounts()

    after = rewritten(chunk(*[commit] * 4, retentions=retentions), "", counts=counts)

    assert after == commit + empty(commit) + with_horizon(commit)
    assert (counts.markers_kept, counts.markers_dropped) == (2, 2)


@pytest.mark.parametrize("codec", CODECS[:4])
@pytest.mark.parametrize("magic", OLD)
def test_old_formats_become_v2(magic: LegacyMagic, codec: Codec) -> None:
    before = old(5, "a1 b2 c3", magic=magic, codec=codec)

    after = rewritten(chunk(before), "xoo")

    assert texts(after) == ["6:b2", "7:c3"]
    assert {(each.magic, each.codec) for each in batches(after)} == {(2, codec)}
    times = [record.timestamp for each in batches(after) for record in each.records()]
    assert times == ([NOW + 1, NOW + 2] if magic else [-1, -1])


def test_tombstone_of_an_old_format_stays_while_its_segment_is_young() -> None:
    before = old(5, "a-")
    given = plan(legacy_horizon_ms=100)

    young = only(rewritten(chunk(before, modified_ms=101), "t", given=given))
    aged = rewritten(chunk(before, modified_ms=100), "t", given=given)

    assert (young.delete_horizon_ms, aged) == (HORIZON, b"")


def test_old_batch_that_is_retained_empty_becomes_a_header_for_its_offsets() -> None:
    before = old(5, "-1 -2", codec=Codec.GZIP)

    after = only(rewritten(chunk(before, retentions=KEEPS_EMPTY), "xx"))

    assert (after.base_offset, after.last_offset, after.count) == (5, 6, 0)


def test_counts_include_read_and_surviving_records() -> None:
    counts = PassCounts()
    parts = batch(0, "a1 b2"), batch(2, "c3 d-"), batch(4, "e-"), batch(5, "f1")

    after = rewritten(chunk(*parts), "xoottx", counts=counts)

    counts.stream = 0
    assert counts == PassCounts(
        batches_read=4,
        batches_kept=3,
        bytes_read=sum(map(len, parts)),
        bytes_kept=len(after),
        records_read=6,
        records_kept=4,
        superseded=2,
        tombstones_kept=2,
    )


@pytest.mark.parametrize("codec", CODECS)
def test_stream_hash_does_not_depend_on_batching(codec: Codec) -> None:
    together, apart = PassCounts(), PassCounts()
    fields = BatchFields(codec=codec)

    rewritten(chunk(batch(0, "a1 b- c3", fields=fields)), "oto", counts=together)
    rewritten(chunk(batch(0, "a1 x2"), batch(1, "b- c3", time=NOW + 1)), "oxto", counts=apart)

    assert together.stream == apart.stream != 0


def test_stream_hash_covers_offset_timestamp_and_bytes_from_the_key_on() -> None:
    builder = BatchBuilder(BatchFields(base_offset=9))
    builder.append(b"k", None, timestamp=50, headers=[("h", b"x")])
    counts = PassCounts()

    rewritten(chunk(bytes(builder.build())), "o", counts=counts)

    body = b"\x02k\x01\x02\x02h\x02x"
    assert counts.stream == stream_with(0, record_hash(body, offset=9, timestamp=50))


def test_stream_of_old_formats_is_that_of_the_same_records_in_v2() -> None:
    new, aged = PassCounts(), PassCounts()

    rewritten(chunk(batch(0, "a1 b2")), "oo", counts=new)
    rewritten(chunk(old(0, "a1 b2", codec=Codec.GZIP)), "oo", counts=aged)

    assert new.stream == aged.stream
