"""The byte budget of a key map: always kept, with as few ranges as possible."""

import pytest

from cordwood.compaction.cleaning_job import CleaningFailedError
from cordwood.compaction.engine.batch_retention import BatchRetention
from cordwood.compaction.engine.engine import HASHES
from cordwood.compaction.engine.plain_key_collector import PlainKeyCollector
from cordwood.compaction.engine.record_marks import Marks, set_bit
from cordwood.compaction.engine.segment_chunk import SegmentChunk
from cordwood.compaction.kernels.kernel_key_map import KernelKeyMap
from cordwood.compaction.key_hash import SALT_FACTOR, SEED_SALT, fold
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.compression import Codec
from tests.unit.compaction.compaction_samples import batch, chunk, marked, marker, old, sent
from tests.unit.compaction.engine.test_plain_key_map import passed

ROOM = 1 << 20


def keyed(count: int, *, codec: Codec = Codec.NONE) -> SegmentChunk:
    """Return records of N keys, in batches of a thousand, each key written twice."""
    parts = []
    for first in range(0, 2 * count, 1000):
        builder = BatchBuilder(BatchFields(base_offset=first, codec=codec))
        for number in range(first, min(first + 1000, 2 * count)):
            builder.append(b"key-%06d" % (number % count), b"v", timestamp=1)
        parts.append(bytes(builder.build()))
    return chunk(*parts)


def test_last_record_of_each_key_is_marked_in_batches_of_every_kind() -> None:
    parts = (
        batch(0, "a1 b2 a3"),
        batch(3, "c- b-", fields=BatchFields(codec=Codec.LZ4)),
        old(5, "c1 d1", codec=Codec.GZIP),
        sent(7, "d2"),
        marker(8, is_commit=False),
    )
    marks = Marks(8)

    passed(
        KernelKeyMap(marks, ROOM),
        chunk(*parts, retentions={3: BatchRetention.DELETE, 4: BatchRetention.CONTROL}),
    )

    assert marked(marks) == "xxodtoox"


def test_clean_record_is_marked_when_its_key_is_neither_dirty_nor_erased() -> None:
    marks = Marks(5)
    key_map = KernelKeyMap(marks, ROOM, erased=frozenset({b"e"}))

    passed(key_map, chunk(batch(0, "a1 b- e1"), batch(3, "a3 c4")), first_dirty=3)

    assert (marked(marks), key_map.keys) == ("xtxoo", 2)


@pytest.mark.parametrize("codec", (Codec.NONE, Codec.ZSTD))
@pytest.mark.parametrize(("room", "most"), ((200_000, 1), (100_000, 2), (20_000, 20), (5000, 90)))
def test_keys_that_exceed_the_memory_need_few_ranges(room: int, most: int, codec: Codec) -> None:
    """Five thousand keys of ten bytes take 22 bytes each, and a slot and a third."""
    data, marks = keyed(5000, codec=codec), Marks(10_000)
    key_map = KernelKeyMap(marks, room)

    ranges = passed(key_map, data)

    assert key_map.keys == 5000
    assert marked(marks) == "x" * 5000 + "o" * 5000
    assert ranges <= most


def test_records_without_keys_are_counted_once_over_all_ranges() -> None:
    key_map = KernelKeyMap(Marks(4), 300)

    for first_hash in (0, HASHES // 2):
        key_map.begin_range(first_hash)
        key_map.learn(chunk(batch(0, "-1 a2"), old(2, "-3 b4")), first_offset=0)
        assert key_map.unkeyed == 2
        key_map.finish_range()

    assert key_map.unkeyed == 2


def test_key_map_never_exceeds_its_memory() -> None:
    key_map = KernelKeyMap(Marks(10_000), 20_000)

    begin = 0
    while begin < HASHES:
        key_map.begin_range(begin)
        key_map.learn(keyed(5000), first_offset=0)
        assert key_map.taken <= 20_000
        begin = key_map.finish_range()


def test_marks_do_not_depend_on_the_seed() -> None:
    data, plain, seeded = keyed(3000), Marks(6000), Marks(6000)

    passed(KernelKeyMap(plain, 10_000), data)
    passed(KernelKeyMap(seeded, 10_000, seed=(1 << 64) - 5), data)

    assert plain.latest == seeded.latest


def test_keys_with_a_constructed_collision_are_split_under_an_unknown_seed() -> None:
    salt = fold(SEED_SALT, SALT_FACTOR).to_bytes(8, "big")
    builder = BatchBuilder()
    for number in range(100):
        builder.append(salt + number.to_bytes(8, "big"), b"v", timestamp=1)
    data, marks = chunk(bytes(builder.build())), Marks(100)

    with pytest.raises(CleaningFailedError):
        passed(KernelKeyMap(Marks(100), 2000), data)
    passed(KernelKeyMap(marks, 2000, seed=1), data)

    assert marked(marks) == "o" * 100


def test_error_for_a_key_above_the_memory_names_the_key_and_the_remedy() -> None:
    builder = BatchBuilder(BatchFields(base_offset=70))
    builder.append(b"k" * 5000, b"v", timestamp=1)
    data = chunk(batch(0, "a1"), bytes(builder.build()))

    with pytest.raises(CleaningFailedError, match=r"offset 70 .* 5000 bytes.*dedupe\.buffer"):
        passed(KernelKeyMap(Marks(2), 4000), data)


def test_large_key_is_added_when_it_fits_alone() -> None:
    builder = BatchBuilder(BatchFields(base_offset=4))
    for key in (b"k" * 3000, b"l" * 3000, b"k" * 3000):
        builder.append(key, b"v", timestamp=1)
    marks = Marks(6)

    passed(KernelKeyMap(marks, 4000), chunk(batch(0, "a1 b2 a3"), bytes(builder.build())))

    assert marked(marks) == "xooxoo"


def test_collected_records_count_like_the_original_records() -> None:
    """Of a thousand keys each is noted twice, the second time later; memory takes a few ranges."""
    collector, both = PlainKeyCollector(1, 0, 0), Marks(2000)
    for number in range(2000):
        set_bit(both.latest, number)
    collector.collect(keyed(1000), both, offsets=range(2000))
    (noted,) = collector.finish()
    marks = Marks(2000)
    key_map, begin, ranges = KernelKeyMap(marks, 12_000), 0, 0

    while begin < HASHES:
        key_map.begin_range(begin)
        key_map.learn_keys(noted, first_number=0)
        begin, ranges = key_map.finish_range(), ranges + 1

    assert (marked(marks), key_map.keys) == ("x" * 1000 + "o" * 1000, 1000)
    assert ranges > 1
