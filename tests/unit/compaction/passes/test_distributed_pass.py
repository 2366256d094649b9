"""A distributed pass: the keys that parts exchange, and the same result as one process."""

import errno
from array import array
from collections.abc import Iterable
from dataclasses import replace

import pytest

from cordwood.compaction.cleaning_job import CleaningFailedError, CleaningJob
from cordwood.compaction.engine.engine import Engine, KeyBlock
from cordwood.compaction.engine.plain_engine import PLAIN
from cordwood.compaction.kernels.kernel_engine import KERNELS
from cordwood.compaction.key_hash import SALT_FACTOR, SEED_SALT, fold, key_hash
from cordwood.compaction.passes import distributed_pass
from cordwood.compaction.passes.cleaning_pass import run_pass
from cordwood.compaction.passes.distributed_pass import DistributedPass, resolve_bucket
from cordwood.compaction.passes.pass_parts import (
    PartKeys,
    split_into_parts,
)
from cordwood.compaction.plan.plan_builder import PassOptions
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.testing.file_faults import FileFault
from tests.unit.compaction.cleaned_log import CleanedLog, Watched
from tests.unit.compaction.compaction_samples import NOW, batch, plan
from tests.unit.compaction.distributed_run import comparable_result, run_in_parts
from tests.unit.storage.log_samples import DIRECTORY

JOB = CleaningJob(directory=DIRECTORY, plan=plan(), memory_bytes=1 << 20, io_buffer_bytes=4096)
SEED = 11
NOTHING = KeyBlock(b"", array("i"), array("Q"), array("q"))


def keys(words: dict[int, bytes], hash_of: int | None = None) -> KeyBlock:
    """Return a block of keys by their record numbers, all with one hash if it is given."""
    hashes = [key[0] if hash_of is None else hash_of for key in words.values()]
    return KeyBlock(
        b"".join(words.values()),
        array("i", map(len, words.values())),
        array("Q", hashes),
        array("q", [number << 1 for number in words]),
    )


def settled(parts: Iterable[PartKeys]) -> dict[int, list[int]]:
    """Return the numbers of the surviving records, by group."""
    found = resolve_bucket(parts, job=JOB, engine=PLAIN)
    return {each.group: [word >> 1 for word in each.words] for each in found}


def filled(*texts: str) -> CleanedLog:
    """Return a log with a segment for each text, and an active one."""
    cleaned = CleanedLog()
    for text in texts:
        cleaned.put(batch(0, text), is_rolled=True)
    return cleaned


# -- resolving


def test_last_dirty_record_of_a_key_survives_in_any_order_of_parts() -> None:
    parts = [
        PartKeys(1, 10, keys({10: b"a", 11: b"b"}), NOTHING),
        PartKeys(0, 0, keys({3: b"a", 4: b"c"}), NOTHING),
    ]

    assert settled(parts) == {0: [4], 1: [10, 11]}


def test_clean_record_survives_unless_a_dirty_one_has_its_key() -> None:
    parts = [
        PartKeys(0, 0, NOTHING, keys({1: b"a", 2: b"b", 3: b"b"})),
        PartKeys(1, 10, keys({10: b"a"}), NOTHING),
    ]

    assert settled(parts) == {0: [2, 3], 1: [10]}


def test_keys_with_equal_hashes_are_distinguished_by_their_bytes() -> None:
    parts = [
        PartKeys(0, 0, keys({0: b"a", 1: b"b"}, 7), keys({2: b"c"}, 7)),
        PartKeys(1, 10, keys({10: b"b", 11: b"bb"}, 7), NOTHING),
    ]

    assert settled(parts) == {0: [0, 2], 1: [10, 11]}


def test_bucket_reports_its_key_counts_once() -> None:
    parts = [
        PartKeys(0, 0, keys({0: b"a"}), NOTHING, unkeyed=2),
        PartKeys(1, 10, keys({10: b"a", 11: b"b"}), NOTHING, unkeyed=3),
    ]

    first, second = resolve_bucket(parts, job=JOB, engine=PLAIN)

    assert (first.stats, second.stats) == ((2, 1, 5), (0, 0, 0))


def test_bucket_without_keys_reports_its_groups() -> None:
    assert settled([PartKeys(3, 0, NOTHING, NOTHING)]) == {3: []}


# -- the whole pass


@pytest.mark.parametrize("block_bytes", (1, distributed_pass.KEY_BLOCK_BYTES))
@pytest.mark.parametrize("part_bytes", (1, 1000, 1 << 20))
def test_pass_in_parts_is_the_same(
    monkeypatch: pytest.MonkeyPatch, part_bytes: int, block_bytes: int
) -> None:
    monkeypatch.setattr(distributed_pass, "KEY_BLOCK_BYTES", block_bytes)
    cleaned = filled("a1 b1 -1", "b2 c- d1", "a3 e- c4")
    plan = cleaned.plan()
    assert plan is not None
    job = cleaned.job(plan)
    whole = cleaned.run_job(job)
    again = filled("a1 b1 -1", "b2 c- d1", "a3 e- c4")

    found = run_in_parts(job, again.place.files, engine=PLAIN, part_bytes=part_bytes)

    assert comparable_result(found) == comparable_result(whole)
    assert again.prove(job, found).certificate.verified == "all keys"


@pytest.mark.parametrize("engine", (PLAIN, KERNELS))
def test_keys_with_equal_hashes_in_many_parts_are_distinguished(engine: Engine) -> None:
    """With the seed such keys can be constructed: the first word cancels the salt."""
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


def test_collected_keys_of_a_part_are_returned_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributed_pass, "KEY_BLOCK_BYTES", 1)
    cleaned = filled("a1 -1", "b2", "a3")
    plan = cleaned.plan()
    assert plan is not None
    work = DistributedPass(
        job=cleaned.job(plan), files=cleaned.place.files, engine=PLAIN, control=Watched()
    )
    (part,) = split_into_parts(work.survey(), part_bytes=1 << 20)

    told = [found for _, found in work.collect(part, buckets=1)]

    assert [(each.first_number, each.dirty.data, each.unkeyed) for each in told] == [
        (0, b"", 1),
        (2, b"b", 0),
        (3, b"a", 0),
    ]


def test_erased_keys_are_not_collected() -> None:
    cleaned = filled("a1 b1", "b2 a2")
    plan = cleaned.plan(PassOptions(erased_keys=frozenset({b"a"})))
    assert plan is not None
    job = cleaned.job(plan)
    work = DistributedPass(job=job, files=cleaned.place.files, engine=PLAIN, control=Watched())

    told = [
        found.dirty.data
        for part in split_into_parts(work.survey(), part_bytes=1)
        for _, found in work.collect(part, buckets=1)
    ]

    assert told == [b"b", b"b"]


def test_whole_pass_writes_into_another_directory() -> None:
    cleaned = filled("a1", "a2")
    plan = cleaned.plan()
    assert plan is not None
    files = cleaned.place.files
    files.make_directory(f"{DIRECTORY}/apart")
    work = DistributedPass(job=cleaned.job(plan), files=files, engine=PLAIN, control=Watched())

    apart = work.run_whole(f"{DIRECTORY}/apart")

    assert not cleaned.place.names(".cleaned")
    assert "00000000000000000000.log.cleaned" in files.list(f"{DIRECTORY}/apart")
    assert comparable_result(apart) == comparable_result(
        run_pass(cleaned.job(plan), files, engine=PLAIN, control=Watched())
    )


def test_damage_is_named_by_file_and_position() -> None:
    cleaned = filled("a1", "a2")
    plan = cleaned.plan()
    assert plan is not None
    files = cleaned.place.files
    work = DistributedPass(job=cleaned.job(plan), files=files, engine=PLAIN, control=Watched())
    (part,) = split_into_parts(work.survey(), part_bytes=1 << 20)
    file = files.open(f"{DIRECTORY}/00000000000000000001.log", writable=True)
    file.pwrite(b"\xff", 66)

    with pytest.raises(CleaningFailedError, match=r"0001\.log: .*position 0"):
        list(work.collect(part, buckets=1))


def test_disk_that_fails_is_named_with_the_log() -> None:
    cleaned = filled("a1", "a2")
    plan = cleaned.plan()
    assert plan is not None
    cleaned.place.files.script.add(FileFault(on="open", path="/d/t-0*", code=errno.EIO))
    work = DistributedPass(
        job=cleaned.job(plan), files=cleaned.place.files, engine=PLAIN, control=Watched()
    )

    with pytest.raises(CleaningFailedError, match=DIRECTORY):
        work.survey()
