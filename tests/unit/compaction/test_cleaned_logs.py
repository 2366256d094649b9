"""The output of passes: records, offsets, markers, and the state of the log."""

from collections.abc import Mapping

import pytest

from cordwood.compaction.engine.plain_engine import PLAIN
from cordwood.compaction.passes.cleaning_pass import run_pass
from cordwood.compaction.plan.cleaning_plan import SourceSegment
from cordwood.core.binary import INT32_MAX
from cordwood.records.batch_stream import batches
from cordwood.records.compression import Codec
from cordwood.storage.files.file_names import CLEANED, DELETED, SWAP
from cordwood.storage.segment.transaction_index import AbortedTxn
from tests.unit.compaction.cleaned_log import CONFIG, CleanedLog, Watched
from tests.unit.compaction.compaction_samples import batch, old, plan, texts
from tests.unit.storage.log_samples import DIRECTORY, LogHarness

LATER = CONFIG.delete_retention_ms


ALL, LEFT = ["0:a1", "1:b2", "2:a3", "3:c4", "4:b5"], ["2:a3", "3:c4", "4:b5"]
NEW_LOG, NEW_TIMES, OTHERS = f"{0:020}.log{CLEANED}", f"{0:020}.timeindex{CLEANED}", "others"


# -- records


def test_superseded_records_are_removed() -> None:
    cleaned = CleanedLog()
    for text in ("a1 b2", "c3 a4", "b5"):
        cleaned.put(batch(0, text), is_rolled=True)

    cleaned.clean()

    assert cleaned.texts == ["2:c3", "3:a4", "4:b5"]


# -- crashes


def dead(new_suffixes: Mapping[str, str], *, are_originals_there: bool) -> CleanedLog:
    """Return a log whose owner died while files with these suffixes replaced `.cleaned` ones."""
    cleaned = CleanedLog()
    for text in ("a1 b2", "a3 c4", "b5"):
        cleaned.put(batch(0, text), is_rolled=True)
    plan = cleaned.plan()
    assert plan is not None
    old = [f"{base:020}{kind}" for base in (0, 2, 4) for kind in (".log", ".index", ".timeindex")]
    cleaned.run(plan)
    cleaned.log.close()
    files = cleaned.place.files
    for name in () if are_originals_there else old:
        files.rename(f"{DIRECTORY}/{name}", f"{DIRECTORY}/{name}{DELETED}")
    for name in [name for name in files.list(DIRECTORY) if name.endswith(CLEANED)]:
        suffix = new_suffixes.get(name, new_suffixes[OTHERS])
        files.rename(f"{DIRECTORY}/{name}", f"{DIRECTORY}/{name.removesuffix(CLEANED)}{suffix}")
    return cleaned


@pytest.mark.parametrize(
    ("new_suffixes", "are_originals_there", "expected"),
    (
        pytest.param({OTHERS: CLEANED}, True, ALL, id="before any new file was renamed"),
        pytest.param({NEW_LOG: SWAP, OTHERS: CLEANED}, True, ALL, id="after some were"),
        pytest.param({OTHERS: SWAP}, True, LEFT, id="after all were"),
        pytest.param({OTHERS: SWAP}, False, LEFT, id="after the old files had gone"),
        pytest.param({NEW_TIMES: SWAP, OTHERS: ""}, False, LEFT, id="before the last had its name"),
    ),
)
def test_log_is_the_old_or_the_new_when_it_is_opened_after_a_crash(
    new_suffixes: Mapping[str, str], expected: list[str], *, are_originals_there: bool
) -> None:
    """The crash points of Kafka's own cleaner test."""
    cleaned = dead(new_suffixes, are_originals_there=are_originals_there)

    cleaned.log = cleaned.place.open(CONFIG, is_clean=False, high_watermark=5)

    names = cleaned.place.files.list(DIRECTORY)
    assert cleaned.texts == expected
    assert not [name for name in names if name.endswith((CLEANED, SWAP, DELETED))]


# -- producers


def test_producers_keep_their_sequences_after_their_records_are_removed() -> None:
    cleaned = CleanedLog()
    sets = ((1, "a1 b1 c1"), (2, "c2 a2 d2"), (3, "a3 d3"))
    for producer, text in sets:
        cleaned.send(text, producer=producer, is_transactional=False)
    cleaned.log.roll()

    cleaned.clean()
    cleaned.reopened()

    assert cleaned.texts == ["1:b1", "3:c2", "6:a3", "7:d3"]
    assert cleaned.last_offsets == [2, 5, 7]
    again = [
        cleaned.send_again(text, producer=producer, sequence=0, is_transactional=False)
        for producer, text in sets
    ]
    assert [(each.first_offset, each.last_offset) for each in again] == [(0, 2), (3, 5), (6, 7)]
    assert all(each.is_duplicate for each in again)


def test_last_batch_of_a_producer_stays_empty_until_a_later_batch() -> None:
    cleaned = CleanedLog()
    cleaned.send("a1 b1", producer=1, is_transactional=False)
    cleaned.put(batch(0, "b2 a2"), is_rolled=True)

    cleaned.clean()
    empty = cleaned.last_offsets
    cleaned.send("c3", producer=1, is_transactional=False)
    cleaned.log.roll()
    cleaned.clean()

    assert empty == [1, 3]
    assert (cleaned.last_offsets, cleaned.texts) == ([3, 4], ["2:b2", "3:a2", "4:c3"])


def test_last_batch_of_a_pass_is_retained_when_empty() -> None:
    cleaned = CleanedLog()
    for text in ("-1 -2", "-3", "-4 -5"):
        cleaned.put(batch(0, text), is_rolled=True)

    cleaned.clean()

    (left,) = cleaned.batches
    assert (left.size, left.count, left.base_offset, left.last_offset) == (61, 0, 3, 4)


# -- transactions


def test_aborted_records_are_removed_and_their_markers_and_entries_stay() -> None:
    cleaned = CleanedLog()
    cleaned.send("a1 b1", producer=1)
    cleaned.send("b2 c2", producer=2)
    cleaned.send("c3 d3", producer=1)
    cleaned.end(1, is_commit=False)
    cleaned.end(2, is_commit=True)
    cleaned.send("b4", producer=1)
    cleaned.end(1, is_commit=True)
    cleaned.log.roll()
    before = cleaned.place.aborted()

    cleaned.clean()

    assert cleaned.texts == ["3:c2", "8:b4"]
    assert cleaned.last_offsets == [3, 6, 7, 8, 9]
    assert cleaned.place.aborted() == before == [AbortedTxn(1, 0, 6, 2)]


def test_commit_marker_is_removed_delete_retention_after_its_records() -> None:
    cleaned = CleanedLog()
    cleaned.send("a1")
    cleaned.send("b1 c1")
    cleaned.end(1, is_commit=True)
    cleaned.send("b2")
    cleaned.end(1, is_commit=True)
    cleaned.log.roll()
    cleaned.clean()
    assert (cleaned.texts, cleaned.last_offsets) == (["0:a1", "2:c1", "4:b2"], [0, 2, 3, 4, 5])
    cleaned.send("a3 c3")
    cleaned.end(1, is_commit=True)
    cleaned.log.roll()

    seen = []
    for wait in (0, 0, LATER - 1, 1):
        cleaned.wait(wait)
        cleaned.clean()
        seen.append(cleaned.last_offsets)

    assert seen == [[3, 4, 5, 7, 8]] * 3 + [[4, 5, 7, 8]]


def test_abort_marker_is_removed_delete_retention_after_its_records() -> None:
    cleaned = CleanedLog()
    cleaned.send("a1")
    cleaned.send("b1 c1")
    cleaned.end(1, is_commit=False)
    cleaned.send("c2")
    cleaned.end(1, is_commit=True)
    cleaned.log.roll()

    seen = []
    for wait in (0, 0, LATER, 0):
        cleaned.wait(wait)
        cleaned.clean()
        seen.append((cleaned.last_offsets, len(cleaned.place.aborted())))

    assert seen == [([3, 4, 5], 1), ([3, 4, 5], 0), ([4, 5], 0), ([4, 5], 0)]


def test_abort_marker_stays_while_an_empty_batch_of_its_transaction_does() -> None:
    cleaned = CleanedLog()
    cleaned.send("a1")
    cleaned.send("b2 c2")
    cleaned.end(1, is_commit=False)
    cleaned.log.roll()
    seen = []
    for _ in range(3):
        cleaned.clean()
        cleaned.wait(LATER)
        seen.append(cleaned.last_offsets)
    cleaned.send("d3")
    cleaned.end(1, is_commit=True)
    cleaned.log.roll()
    for _ in range(3):
        cleaned.clean()
        cleaned.wait(LATER)
        seen.append(cleaned.last_offsets)

    assert seen == [[2, 3]] * 3 + [[3, 4, 5], [3, 4, 5], [4, 5]]


def test_commit_marker_stays_while_an_empty_batch_of_its_transaction_does() -> None:
    cleaned, seen = CleanedLog(), []
    cleaned.send("a1 b1")
    cleaned.end(1, is_commit=True)
    cleaned.put(batch(0, "a2 b2"), is_rolled=True)
    for _ in range(3):
        cleaned.clean()
        cleaned.wait(LATER)
        seen.append(cleaned.last_offsets)
    cleaned.send("c3", is_transactional=False)
    cleaned.log.roll()
    for _ in range(3):
        cleaned.clean()
        cleaned.wait(LATER)
        seen.append(cleaned.last_offsets)

    assert seen == [[1, 2, 4]] * 3 + [[2, 4, 5], [2, 4, 5], [4, 5]]


def test_committed_transaction_over_several_segments_is_retained_in_all_of_them() -> None:
    cleaned = CleanedLog()
    for text in ("a1", "b1", "c1"):
        cleaned.send(text)
        cleaned.put(batch(0, text[0] + "9"), is_rolled=True)
    cleaned.send("a2")
    cleaned.end(1, is_commit=True, is_rolled=True)

    cleaned.clean()

    assert cleaned.texts == ["3:b9", "5:c9", "6:a2"]
    assert cleaned.last_offsets == [3, 5, 6, 7]


def test_aborted_transaction_over_several_segments_is_removed_from_all_of_them() -> None:
    cleaned = CleanedLog()
    for text in ("a1", "b1", "c1"):
        cleaned.send(text)
        cleaned.put(batch(0, text[0] + "9"), is_rolled=True)
    cleaned.end(1, is_commit=False, is_rolled=True)

    cleaned.clean()

    assert cleaned.texts == ["1:a9", "3:b9", "5:c9"]


@pytest.mark.parametrize("is_rolled", (False, True))
def test_aborted_records_are_removed_when_the_transaction_index_is_lost(*, is_rolled: bool) -> None:
    """The marker is within the pass, or behind it."""
    cleaned = CleanedLog()
    cleaned.put(batch(0, "a1 b1"))
    cleaned.send("a2")
    if is_rolled:
        cleaned.log.roll()
    cleaned.end(1, is_commit=False)
    if not is_rolled:
        cleaned.log.roll()
    cleaned.put(batch(0, "c3"))
    for name in cleaned.place.files.list(DIRECTORY):
        if name.endswith(".txnindex"):
            cleaned.place.files.remove(f"{DIRECTORY}/{name}")

    cleaned.clean()

    assert cleaned.texts == ["0:a1", "1:b1", "4:c3"]


def test_segments_with_undecided_records_are_not_touched() -> None:
    cleaned = CleanedLog()
    cleaned.put(batch(0, "a1 a2"), is_rolled=True)
    cleaned.send("a3")
    cleaned.put(batch(0, "a4"), is_rolled=True)

    cleaning = cleaned.clean()

    assert cleaning.end == 2
    assert cleaned.texts == ["1:a2", "2:a3", "3:a4"]


# -- keys and values


def test_pass_with_little_memory_covers_the_whole_range() -> None:
    cleaned = CleanedLog()
    cleaned.put(batch(0, "a0 b1"), batch(0, "a2"), batch(0, "b3"), batch(0, "a4"))
    cleaned.log.roll()
    cleaned.memory_bytes = 60
    cleaned.first_dirty = 2

    said = cleaned.clean().certificate

    assert cleaned.texts == ["3:b3", "4:a4"]
    assert (said.ranges > 1, said.end) == (True, 5)


def test_tombstone_with_an_old_time_stays_for_a_retention_from_its_first_pass() -> None:
    cleaned = CleanedLog()
    cleaned.put(batch(0, "a1 b1", time=1), batch(0, "b-", time=1), batch(0, "c1"), is_rolled=True)

    seen = []
    for wait in (0, 0, LATER - 1, 1):
        cleaned.wait(wait)
        cleaned.clean()
        seen.append(cleaned.texts)

    assert seen == [["0:a1", "2:b-", "3:c1"]] * 3 + [["0:a1", "3:c1"]]


def test_records_without_keys_are_removed_and_counted() -> None:
    cleaned = CleanedLog()
    cleaned.put(batch(0, "-1 a2 -3"), batch(0, "b4"), is_rolled=True)

    said = cleaned.clean().certificate.counts

    assert (cleaned.texts, said.unkeyed, said.superseded) == (["1:a2", "3:b4"], 2, 0)


def test_next_pass_begins_at_the_active_segment_though_offsets_are_missing_before_it() -> None:
    cleaned = CleanedLog()
    cleaned.follow(batch(0, "a1"))
    cleaned.log.roll()
    cleaned.follow(batch(100, "b2"))

    assert cleaned.clean().end == cleaned.log.base_offsets[-1]
    assert cleaned.texts == ["0:a1", "100:b2"]


@pytest.mark.parametrize("codec", (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4))
def test_old_formats_are_compacted_into_v2(codec: Codec) -> None:
    cleaned = CleanedLog()
    cleaned.follow(old(0, "a1 b2", magic=0, codec=codec), old(2, "b3 c4", codec=codec))
    cleaned.log.roll()

    cleaned.clean()

    assert cleaned.texts == ["0:a1", "2:b3", "3:c4"]
    assert {each.magic for each in cleaned.batches} == {2}


def test_tombstone_of_an_old_format_has_a_horizon_from_its_first_pass_on() -> None:
    cleaned = CleanedLog()
    cleaned.follow(old(0, "a1 b2"), old(2, "b-"))
    cleaned.log.roll()

    seen = []
    for wait in (0, LATER - 1, 1):
        cleaned.wait(wait)
        cleaned.clean()
        seen.append(cleaned.texts)

    assert seen == [["0:a1", "2:b-"]] * 2 + [["0:a1"]]


def test_log_is_the_same_after_it_was_opened_again() -> None:
    cleaned = CleanedLog()
    for number in range(9):
        cleaned.put(batch(0, f"a{number} b{number}"), is_rolled=number % 3 == 2)
    cleaned.clean()
    before = cleaned.data

    cleaned.reopened()

    assert cleaned.data == before
    assert cleaned.texts == ["16:a8", "17:b8"]


# -- segments


def test_segment_that_is_too_wide_becomes_several() -> None:
    place, far = LogHarness(), INT32_MAX + 5
    place.open().close()
    data = batch(0, "a1 b2") + batch(far, "a3")
    place.files.open(f"{DIRECTORY}/{0:020}.log", writable=True).append(data)
    place.files.create(f"{DIRECTORY}/{far + 1:020}.log")
    wide = SourceSegment(0, far + 1, len(data), 0, 0, 0)
    cleaned = CleanedLog()
    job = cleaned.job(plan(end=far + 1, groups=((wide,),)))

    cleaning = run_pass(job, place.files, engine=PLAIN, control=Watched())

    assert [each.base_offset for each in cleaning.groups[0].cleaned] == [0, far]
    assert texts(place.bytes_of(f"{far:020}.log.cleaned")) == [f"{far}:a3"]


def test_second_pass_over_a_clean_log_changes_no_byte() -> None:
    cleaned = CleanedLog()
    cleaned.put(batch(0, "a1 b1 c1"), batch(0, "b2 d-"), is_rolled=True)
    cleaned.clean()
    before = cleaned.data

    said = cleaned.clean().certificate.counts

    assert cleaned.data == before
    assert said.batches_copied == said.batches_kept == len(list(batches(before)))
