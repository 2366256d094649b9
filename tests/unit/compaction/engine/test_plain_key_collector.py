"""A key collector returns the marked records of a part, each in the bucket of its key."""

from array import array

from cordwood.compaction.engine.batch_retention import BatchRetention
from cordwood.compaction.engine.engine import BUCKET_SHIFT, KeyBlock
from cordwood.compaction.engine.plain_key_collector import PlainKeyCollector, mark, survivors
from tests.unit.compaction.compaction_samples import batch, chunk, marked, marks


def collected(collector: PlainKeyCollector) -> list[tuple[bytes, list[int], list[int]]]:
    return [(each.data, list(each.sizes), list(each.words)) for each in collector.finish()]


def test_collector_returns_marked_records_with_their_record_numbers() -> None:
    collector = PlainKeyCollector(1, 100, 0)

    collector.collect(chunk(batch(0, "a1 b2 c- d3")), marks("xoto"), offsets=range(9))

    assert collected(collector) == [(b"bcd", [1, 1, 1], [202, 205, 206])]


def test_collector_returns_only_records_in_the_offset_range() -> None:
    collector = PlainKeyCollector(1, 0, 0)

    collector.collect(chunk(batch(7, "a1 b2 c3")), marks("ooo"), offsets=range(8, 9))

    assert collected(collector) == [(b"b", [1], [2])]


def test_collector_passes_dropped_batches_over() -> None:
    collector = PlainKeyCollector(1, 0, 0)
    data = chunk(batch(0, "a1"), batch(1, "b1"), retentions={0: BatchRetention.DELETE})

    collector.collect(data, marks("oo"), offsets=range(9))

    assert collected(collector) == [(b"b", [1], [2])]


def test_collector_adds_keys_with_one_hash_to_one_bucket() -> None:
    hashes = {b"a": 1 << BUCKET_SHIFT, b"b": 3, b"c": 5 << BUCKET_SHIFT}
    collector = PlainKeyCollector(4, 0, 0, hash_of=lambda key, _: hashes[bytes(key)])

    collector.collect(chunk(batch(0, "a1 b2 c3")), marks("ooo"), offsets=range(9))

    assert [each.data for each in collector.finish()] == [b"b", b"ac", b"", b""]


def test_survivors_are_the_words_of_marked_records() -> None:
    noted = KeyBlock(b"abc", array("i", [1, 1, 1]), array("Q", [1, 2, 3]), array("q", [8, 11, 12]))

    assert list(survivors(marks("xxoxo"), noted, 2)) == [8, 12]


def test_words_mark_the_latest_and_tombstones() -> None:
    found = marks("xxxx")

    mark(found, 10, array("q", [20, 27]))

    assert marked(found) == "oxxt"
