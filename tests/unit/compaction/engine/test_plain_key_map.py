"""The last record of each key is marked exactly, in as many ranges as the memory requires."""

from array import array

import pytest

from cordwood.compaction.engine.batch_retention import BatchRetention
from cordwood.compaction.engine.engine import HASHES, KeyBlock, KeyMap
from cordwood.compaction.engine.plain_key_map import KEY_COST, PlainKeyMap
from cordwood.compaction.engine.record_marks import Marks
from cordwood.compaction.engine.segment_chunk import SegmentChunk
from cordwood.core.binary import Buffer
from cordwood.records.batch_builder import BatchBuilder
from cordwood.records.compression import Codec
from tests.unit.compaction.compaction_samples import batch, chunk, marked, marker, old, sent

ROOM = 1 << 20
ONE_KEY = KEY_COST + 1


def halves(key: Buffer, _seed: int) -> int:
    """Return a hash in the upper half for `z`, and in the lower half for other keys."""
    return HASHES - 1 if bytes(key[:1]) == b"z" else 0


def passed(key_map: KeyMap, data: SegmentChunk, first_dirty: int = 0) -> int:
    """Run all ranges, and return their number."""
    begin = ranges = 0
    while begin < HASHES:
        key_map.begin_range(begin)
        key_map.learn(data, first_offset=first_dirty)
        key_map.look_up(data, end_offset=first_dirty)
        begin, ranges = key_map.finish_range(), ranges + 1
    return ranges


def test_last_record_of_each_key_is_marked() -> None:
    marks = Marks(5)

    passed(PlainKeyMap(marks, ROOM), chunk(batch(0, "a1 b2 a3"), batch(3, "c- b-")))

    assert marked(marks) == "xxott"


def test_clean_record_is_marked_when_its_key_is_not_dirty() -> None:
    marks = Marks(4)

    passed(PlainKeyMap(marks, ROOM), chunk(batch(0, "d1 b-"), batch(2, "d3 c4")), first_dirty=2)

    assert marked(marks) == "xtoo"


def test_first_record_of_a_log_is_marked_when_it_is_clean_and_the_last_of_its_key() -> None:
    marks = Marks(2)

    passed(PlainKeyMap(marks, ROOM), chunk(batch(0, "a1"), batch(1, "b2")), first_dirty=1)

    assert marked(marks) == "oo"


def test_dirty_range_may_begin_within_a_batch() -> None:
    marks = Marks(3)

    passed(PlainKeyMap(marks, ROOM), chunk(batch(0, "a1 a2 b3")), first_dirty=1)

    assert marked(marks) == "xoo"


def test_records_without_a_key_are_counted_once_and_never_marked() -> None:
    marks = Marks(3)
    key_map = PlainKeyMap(marks, ONE_KEY)

    passed(key_map, chunk(batch(0, "-1 a2 b3")))

    assert (marked(marks), key_map.unkeyed, key_map.keys) == ("xoo", 1, 2)


def test_control_and_dropped_batches_never_enter() -> None:
    marks = Marks(2)
    data = chunk(
        batch(0, "a1"),
        sent(1, "a2"),
        marker(2, is_commit=False),
        retentions={1: BatchRetention.DELETE, 2: BatchRetention.CONTROL},
    )

    passed(PlainKeyMap(marks, ROOM), data)

    assert marked(marks) == "ox"


def test_records_of_erased_keys_are_not_marked() -> None:
    marks = Marks(4)
    key_map = PlainKeyMap(marks, ROOM, erased=frozenset({b"a"}))

    passed(key_map, chunk(batch(0, "a1 b2"), batch(2, "a3 c4")), first_dirty=2)

    assert (marked(marks), key_map.keys) == ("xoxo", 1)


@pytest.mark.parametrize("room", (1, ONE_KEY, 2 * ONE_KEY, 5 * ONE_KEY))
def test_marks_do_not_depend_on_the_memory_limit(room: int) -> None:
    data = chunk(batch(0, "a1 b2 c3 d4"), batch(4, "e5 a6 f- b8"), batch(8, "g9 g-"))
    plenty, little = Marks(10), Marks(10)

    passed(PlainKeyMap(plenty, ROOM), data, first_dirty=4)
    ranges = passed(PlainKeyMap(little, room), data, first_dirty=4)

    assert (little.latest, little.tombstones) == (plenty.latest, plenty.tombstones)
    assert ranges > 1 or room == 5 * ONE_KEY


def test_keys_are_counted_over_all_ranges() -> None:
    key_map = PlainKeyMap(Marks(5), ONE_KEY)

    ranges = passed(key_map, chunk(batch(0, "a1 b2 c3 a4 d5")))

    assert (key_map.keys, ranges > 1) == (4, True)


@pytest.mark.parametrize(("room", "ranges"), ((2 * ONE_KEY, 1), (2 * ONE_KEY - 1, 2)))
def test_range_is_halved_when_its_keys_exceed_the_memory(room: int, ranges: int) -> None:
    key_map = PlainKeyMap(Marks(2), room, hash_of=halves)

    assert passed(key_map, chunk(batch(0, "a1 z2"))) == ranges


def test_half_a_range_ends_before_the_first_hash_of_the_other_half() -> None:
    middle = HASHES // 2
    key_map = PlainKeyMap(Marks(2), ONE_KEY, hash_of=lambda key, _: middle * (key == b"z"))

    key_map.begin_range(0)
    key_map.learn(chunk(batch(0, "a1 z2")), first_offset=0)

    assert key_map.finish_range() == middle


def test_range_is_halved_down_to_a_single_hash() -> None:
    key_map = PlainKeyMap(Marks(2), ONE_KEY, hash_of=lambda key, _: key == b"z")

    key_map.begin_range(0)
    key_map.learn(chunk(batch(0, "a1 z2")), first_offset=0)

    assert key_map.finish_range() == 1


def test_memory_of_the_remaining_keys_stays_counted_after_a_range_is_halved() -> None:
    key_map = PlainKeyMap(Marks(4), 2 * (KEY_COST + 100), hash_of=halves)
    builder = BatchBuilder()
    for key in (b"b" * 100, b"z" * 100, b"c" * 100, b"d"):
        builder.append(key, b"v", timestamp=0)

    key_map.begin_range(0)
    key_map.learn(chunk(bytes(builder.build())), first_offset=0)

    assert key_map.finish_range() == 1


def test_marks_do_not_depend_on_the_seed() -> None:
    data = chunk(batch(0, "a1 b2 c3 d4 e5 a6"))
    some, others = Marks(6), Marks(6)

    passed(PlainKeyMap(some, 2 * ONE_KEY, seed=1), data)
    passed(PlainKeyMap(others, 2 * ONE_KEY, seed=2), data)

    assert marked(some) == marked(others) == "xooooo"


def test_keys_with_equal_hashes_are_kept_apart() -> None:
    """Keys are compared as bytes, and keys of one hash stay in one range."""

    def same(_key: Buffer, _seed: int) -> int:
        return HASHES - 1

    marks = Marks(3)

    passed(PlainKeyMap(marks, ONE_KEY, hash_of=same), chunk(batch(0, "a1 b2 a3")))

    assert marked(marks) == "xoo"


@pytest.mark.parametrize("codec", (Codec.NONE, Codec.GZIP))
def test_records_of_old_formats_are_added_to_the_map(codec: Codec) -> None:
    marks = Marks(4)

    data = chunk(old(0, "a1", magic=0), old(1, "a2 b- a4", codec=codec))
    passed(PlainKeyMap(marks, ROOM), data)

    assert marked(marks) == "xxto"


def test_collected_records_count_like_the_original_records() -> None:
    marks = Marks(5)
    key_map = PlainKeyMap(marks, ROOM)
    dirty = KeyBlock(b"abba", array("i", [1, 2, 1]), array("Q", [0, 0, 0]), array("q", [4, 7, 10]))
    clean = KeyBlock(b"bbc", array("i", [2, 1]), array("Q", [0, 0]), array("q", [0, 3]))

    key_map.begin_range(0)
    key_map.learn_keys(dirty, first_number=0)
    key_map.look_up_keys(clean, first_number=3)
    key_map.finish_range()

    assert (marked(marks), key_map.keys) == ("xtoxt", 2)
