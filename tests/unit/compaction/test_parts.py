"""A pass that is done in parts: how a log is cut, and what parts tell each other."""

import errno
from array import array
from collections.abc import Iterable
from dataclasses import replace

import pytest

from cordwood.compaction import parts
from cordwood.compaction.engine import MOST_BUCKETS, Engine, NotedKeys
from cordwood.compaction.fates import SegmentSurvey
from cordwood.compaction.job import CleaningFailedError, CleaningJob
from cordwood.compaction.kernels.kernel_engine import KERNELS
from cordwood.compaction.key_hash import SALT_FACTOR, SEED_SALT, fold, key_hash
from cordwood.compaction.parts import (
    Part,
    PartKeys,
    PassInParts,
    buckets_for,
    parts_of,
    settle,
)
from cordwood.compaction.passes import run_pass
from cordwood.compaction.plain import PLAIN
from cordwood.compaction.plan import SourceSegment
from cordwood.compaction.planning import Wishes
from cordwood.compaction.stretches import Surveyed
from cordwood.records.builder import BatchBuilder, BatchFields
from cordwood.testing.faults import Fault
from tests.unit.compaction.cleaning import CleanedLog, Watched
from tests.unit.compaction.compaction_samples import NOW, batch, plan
from tests.unit.compaction.in_parts import run_in_parts, told_alike
from tests.unit.storage.log_samples import DIRECTORY

JOB = CleaningJob(directory=DIRECTORY, plan=plan(), memory_bytes=1 << 20, io_buffer_bytes=4096)
SEED = 11
#: What a record counts for beside its bytes.
NOTED = 128
NOTHING = NotedKeys(b"", array("i"), array("Q"), array("q"))


def surveyed(base: int, *sizes: int) -> Surveyed:
    """Return a segment of chunks of some sizes, of a record each."""
    survey = SegmentSurvey(base, first_number=base)
    for size in sizes:
        survey.add_chunk(size=size, batches=1, records=1)
    return Surveyed(SourceSegment(base, base + len(sizes), sum(sizes), 0, 0, 0), survey)


def cut(part: Part) -> tuple[int, list[tuple[int, list[int], int]]]:
    """Return a part's group, and of its pieces base, chunks and end."""
    return part.group, [
        (source.base_offset, list(survey.chunk_positions), survey.size)
        for source, survey in part.pieces
    ]


def keys(words: dict[int, bytes], hash_of: int | None = None) -> NotedKeys:
    """Return noted records: keys by their numbers in the log, with an equal hash if it is given."""
    hashes = [key[0] if hash_of is None else hash_of for key in words.values()]
    return NotedKeys(
        b"".join(words.values()),
        array("i", map(len, words.values())),
        array("Q", hashes),
        array("q", [number << 1 for number in words]),
    )


def settled(parts: Iterable[PartKeys]) -> dict[int, list[int]]:
    """Return by group the numbers of records that stay."""
    found = settle(parts, job=JOB, engine=PLAIN)
    return {each.group: [word >> 1 for word in each.words] for each in found}


def filled(*texts: str) -> CleanedLog:
    """Return a log of a segment for each text, and an active one."""
    cleaned = CleanedLog()
    for text in texts:
        cleaned.put(batch(0, text), is_rolled=True)
    return cleaned


# -- cutting


def test_large_segment_is_cut_between_chunks() -> None:
    parts = parts_of([[surveyed(0, 40, 40, 40)]], part_bytes=50)

    assert [cut(each) for each in parts] == [(0, [(0, [0, 40], 80)]), (0, [(0, [80], 120)])]


def test_small_segments_of_a_group_are_one_part() -> None:
    parts = parts_of([[surveyed(0, 20), surveyed(1, 20), surveyed(2, 20)]], part_bytes=40)

    assert [cut(each)[1] for each in parts] == [
        [(0, [0], 20), (1, [0], 20)],
        [(2, [0], 20)],
    ]


def test_parts_never_reach_over_a_groups_end() -> None:
    parts = parts_of([[surveyed(0, 20)], [surveyed(1, 20)]], part_bytes=1 << 20)

    assert [each.group for each in parts] == [0, 1]


def test_empty_group_is_a_part() -> None:
    (part,) = parts_of([[surveyed(0)]], part_bytes=100)

    assert cut(part) == (0, [(0, [], 0)])


def test_part_has_the_records_of_its_chunks() -> None:
    last = parts_of([[surveyed(5, 40, 40, 40)]], part_bytes=80)[-1]

    assert (last.stretch.first_number, last.stretch.records) == (7, 1)


@pytest.mark.parametrize(("memory", "buckets"), ((1000, 1), (400, 2), (100, 8), (50, 16)))
def test_buckets_are_as_many_as_memory_asks_for(memory: int, buckets: int) -> None:
    groups = [[surveyed(0, 136, 136), surveyed(2, 10)]]

    assert buckets_for(groups, memory_bytes=memory) == buckets


def test_buckets_are_no_more_than_hashes_have_bits_for() -> None:
    assert buckets_for([[surveyed(0, 1 << 20)]], memory_bytes=1) == MOST_BUCKETS


# -- settling


def test_last_dirty_record_of_a_key_stays_in_whatever_order_parts_come() -> None:
    parts = [
        PartKeys(1, 10, keys({10: b"a", 11: b"b"}), NOTHING),
        PartKeys(0, 0, keys({3: b"a", 4: b"c"}), NOTHING),
    ]

    assert settled(parts) == {0: [4], 1: [10, 11]}


def test_clean_record_stays_unless_a_dirty_one_has_its_key() -> None:
    parts = [
        PartKeys(0, 0, NOTHING, keys({1: b"a", 2: b"b", 3: b"b"})),
        PartKeys(1, 10, keys({10: b"a"}), NOTHING),
    ]

    assert settled(parts) == {0: [2, 3], 1: [10]}


def test_keys_of_one_hash_are_told_apart_by_their_bytes() -> None:
    parts = [
        PartKeys(0, 0, keys({0: b"a", 1: b"b"}, 7), keys({2: b"c"}, 7)),
        PartKeys(1, 10, keys({10: b"b", 11: b"bb"}, 7), NOTHING),
    ]

    assert settled(parts) == {0: [0, 2], 1: [10, 11]}


def test_bucket_tells_of_its_keys_once() -> None:
    parts = [
        PartKeys(0, 0, keys({0: b"a"}), NOTHING, unkeyed=2),
        PartKeys(1, 10, keys({10: b"a", 11: b"b"}), NOTHING, unkeyed=3),
    ]

    first, second = settle(parts, job=JOB, engine=PLAIN)

    assert (first.seen, second.seen) == ((2, 1, 5), (0, 0, 0))


def test_bucket_without_keys_tells_of_its_groups_all_the_same() -> None:
    assert settled([PartKeys(3, 0, NOTHING, NOTHING)]) == {3: []}


# -- all of it


@pytest.mark.parametrize("told_bytes", (1, parts.TOLD_BYTES))
@pytest.mark.parametrize("part_bytes", (1, 1000, 1 << 20))
def test_pass_in_parts_is_the_same(
    monkeypatch: pytest.MonkeyPatch, part_bytes: int, told_bytes: int
) -> None:
    monkeypatch.setattr(parts, "TOLD_BYTES", told_bytes)
    cleaned = filled("a1 b1 -1", "b2 c- d1", "a3 e- c4")
    plan = cleaned.plan()
    assert plan is not None
    job = cleaned.job(plan)
    whole = cleaned.run_job(job)
    again = filled("a1 b1 -1", "b2 c- d1", "a3 e- c4")

    found = run_in_parts(job, again.place.files, engine=PLAIN, part_bytes=part_bytes)

    assert told_alike(found) == told_alike(whole)
    assert again.prove(job, found).certificate.verified == "all keys"


@pytest.mark.parametrize("engine", (PLAIN, KERNELS))
def test_keys_of_one_hash_in_many_parts_are_told_apart(engine: Engine) -> None:
    """Whoever knows the seed can make such keys: the first word takes the salt away."""
    salt = fold(SEED ^ SEED_SALT, SALT_FACTOR).to_bytes(8)
    same = [salt + number.to_bytes(8) for number in range(9)]
    assert len({key_hash(key, SEED) for key in same}) == 1
    cleaned = CleanedLog(engine=engine)
    for number in (0, 1, 2, 3, 4, 2, 5, 6, 0, 7, 8):
        builder = BatchBuilder(BatchFields())
        builder.append(same[number], b"v", timestamp=NOW)
        cleaned.put(bytes(builder.build()), is_rolled=True)
    plan = cleaned.plan()
    assert plan is not None
    job = replace(cleaned.job(plan), seed=SEED)

    found = run_in_parts(job, cleaned.place.files, engine=engine, part_bytes=1)

    assert (found.certificate.keys, found.certificate.counts.records_kept) == (9, 9)
    assert cleaned.prove(job, found).certificate.verified == "all keys"


def test_part_tells_what_is_left_of_it_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "TOLD_BYTES", 1)
    cleaned = filled("a1 -1", "b2", "a3")
    plan = cleaned.plan()
    assert plan is not None
    work = PassInParts(
        job=cleaned.job(plan), files=cleaned.place.files, engine=PLAIN, control=Watched()
    )
    (part,) = parts_of(work.survey(), part_bytes=1 << 20)

    told = [found for _, found in work.collect(part, buckets=1)]

    assert [(each.first_number, each.dirty.data, each.unkeyed) for each in told] == [
        (0, b"", 1),
        (2, b"b", 0),
        (3, b"a", 0),
    ]


def test_erased_keys_are_told_to_nobody() -> None:
    cleaned = filled("a1 b1", "b2 a2")
    plan = cleaned.plan(Wishes(erased_keys=frozenset({b"a"})))
    assert plan is not None
    job = cleaned.job(plan)
    work = PassInParts(job=job, files=cleaned.place.files, engine=PLAIN, control=Watched())

    told = [
        found.dirty.data
        for part in parts_of(work.survey(), part_bytes=1)
        for _, found in work.collect(part, buckets=1)
    ]

    assert told == [b"b", b"b"]


def test_whole_pass_writes_into_another_directory() -> None:
    cleaned = filled("a1", "a2")
    plan = cleaned.plan()
    assert plan is not None
    files = cleaned.place.files
    files.make_directory(f"{DIRECTORY}/apart")
    work = PassInParts(job=cleaned.job(plan), files=files, engine=PLAIN, control=Watched())

    apart = work.whole(f"{DIRECTORY}/apart")

    assert not cleaned.place.names(".cleaned")
    assert "00000000000000000000.log.cleaned" in files.list(f"{DIRECTORY}/apart")
    assert told_alike(apart) == told_alike(
        run_pass(cleaned.job(plan), files, engine=PLAIN, control=Watched())
    )


def test_damage_is_named_by_file_and_position() -> None:
    cleaned = filled("a1", "a2")
    plan = cleaned.plan()
    assert plan is not None
    files = cleaned.place.files
    work = PassInParts(job=cleaned.job(plan), files=files, engine=PLAIN, control=Watched())
    (part,) = parts_of(work.survey(), part_bytes=1 << 20)
    file = files.open(f"{DIRECTORY}/00000000000000000001.log", writable=True)
    file.pwrite(b"\xff", 66)

    with pytest.raises(CleaningFailedError, match=r"0001\.log: .*position 0"):
        list(work.collect(part, buckets=1))


def test_disk_that_fails_is_named_with_the_log() -> None:
    cleaned = filled("a1", "a2")
    plan = cleaned.plan()
    assert plan is not None
    cleaned.place.files.script.add(Fault(on="open", path="/d/t-0*", code=errno.EIO))
    work = PassInParts(
        job=cleaned.job(plan), files=cleaned.place.files, engine=PLAIN, control=Watched()
    )

    with pytest.raises(CleaningFailedError, match=DIRECTORY):
        work.survey()
