"""A pass leaves new segments next to the old ones, or no file at all."""

import errno
from dataclasses import replace

import pytest

from cordwood.compaction.cleaning_job import (
    CleanedGroup,
    CleanedSegment,
    CleaningFailedError,
    CleaningStoppedError,
    Verify,
)
from cordwood.compaction.engine.plain_engine import PLAIN
from cordwood.compaction.passes.cleaning_pass import InlineRunner, run_pass
from cordwood.compaction.plan.cleaning_plan import CleaningPlan
from cordwood.compaction.plan.plan_builder import PassOptions
from cordwood.core.system import ThreadWorker
from cordwood.testing.file_faults import FileFault
from tests.unit.compaction.cleaned_log import CONFIG, CleanedLog, Watched
from tests.unit.compaction.compaction_samples import batch
from tests.unit.storage.log_samples import DIRECTORY


def filled() -> tuple[CleanedLog, CleaningPlan]:
    """Return a log of three cleanable segments and an active one, and its plan."""
    cleaned = CleanedLog()
    for text in ("a1 b2", "a3 -4", "c5 b-", "d6"):
        cleaned.put(batch(0, text), is_rolled=text != "d6")
    plan = cleaned.plan()
    assert plan is not None
    return cleaned, plan


def test_pass_writes_one_segment_per_group_and_changes_no_existing_file() -> None:
    cleaned, plan = filled()
    before = cleaned.data

    cleaning = cleaned.run(plan)

    assert [group.replaced for group in cleaning.groups] == [(0, 2, 4)]
    assert cleaned.data == before
    assert cleaned.place.names(".cleaned") == [
        f"0.{kind}.cleaned" for kind in ("index", "log", "timeindex")
    ]


def test_certificate_has_the_counts_of_the_pass() -> None:
    cleaned, plan = filled()

    said = cleaned.run(plan).certificate

    assert (said.partition, said.first_dirty, said.end) == ("t-0", 0, 6)
    assert (said.segments_before, said.segments_after, said.keys, said.ranges) == (3, 1, 3, 1)
    assert (said.counts.records_read, said.counts.records_kept) == (6, 3)
    assert (said.counts.superseded, said.counts.unkeyed) == (2, 1)


@pytest.mark.parametrize("first_dirty", (0, 2, 6))
def test_pass_reports_all_bytes_read_and_written(first_dirty: int) -> None:
    """Each segment is surveyed, read for the key map, and rewritten."""
    cleaned, plan = filled()
    cleaned.verify = Verify.NEVER
    watched = Watched()

    cleaning = cleaned.run(replace(plan, first_dirty=first_dirty), watched)

    said = cleaning.certificate.counts
    assert watched.bytes == 3 * said.bytes_read + said.bytes_kept


@pytest.mark.parametrize("verify", Verify)
def test_pass_reports_as_many_bytes_as_expected(verify: Verify) -> None:
    cleaned, plan = filled()
    cleaned.verify = verify
    watched = Watched()

    cleaned.run(plan, watched)

    assert watched.bytes == watched.expected


def test_pass_expects_more_bytes_when_its_keys_need_more_ranges() -> None:
    cleaned, plan = filled()
    watched, plenty = Watched(), Watched()

    cleaned.run(plan, plenty)
    cleaned.memory_bytes = 200
    cleaned.run(plan, watched)

    assert plenty.expected < watched.expected


def test_pass_uses_more_ranges_when_memory_is_small() -> None:
    cleaned, plan = filled()
    plenty = cleaned.run(plan).certificate
    cleaned.memory_bytes = 200

    little = cleaned.run(plan).certificate

    assert little.ranges > plenty.ranges == 1
    assert (little.counts, little.keys) == (plenty.counts, plenty.keys)


def test_output_of_a_pass_does_not_depend_on_the_seed() -> None:
    cleaned, plan = filled()
    cleaned.memory_bytes = 400
    left = []

    for seed in (1, 2):
        said = cleaned.run_job(replace(cleaned.job(plan), seed=seed)).certificate
        left.append((said.counts, said.keys, cleaned.place.bytes_of(f"{0:020}.log.cleaned")))
        assert (said.seed, said.ranges > 1) == (seed, True)

    assert left[0] == left[1]


@pytest.mark.parametrize("first_dirty", (0, 3, 8))
def test_pass_uses_more_mark_windows_when_memory_is_small(first_dirty: int) -> None:
    cleaned = CleanedLog(replace(CONFIG, segment_bytes=200))
    cleaned.io_buffer_bytes = 100
    cleaned.verify = Verify.SAMPLE  # below the first dirty offset, keys have several records
    for text in ("a1 b2", "a3 -4", "c5 b-", "a6 -7", "d8 b9", "e1 -2", "d-"):
        cleaned.put(batch(0, text), is_rolled=True)
    plan = cleaned.plan()
    assert plan is not None
    plan = replace(plan, first_dirty=first_dirty)
    plenty = cleaned.run(plan)
    before = {name: cleaned.place.bytes_of(name) for name in cleaned.place.files.list(DIRECTORY)}
    cleaned.memory_bytes = 10

    little = cleaned.run(plan)

    assert before == {
        name: cleaned.place.bytes_of(name) for name in cleaned.place.files.list(DIRECTORY)
    }
    assert little.groups == plenty.groups
    assert little.certificate.ranges > plenty.certificate.ranges
    assert replace(little.certificate, ranges=1) == plenty.certificate


def test_pass_fails_when_memory_cannot_hold_the_marks_of_one_segment() -> None:
    cleaned, plan = filled()
    cleaned.memory_bytes = 1

    with pytest.raises(CleaningFailedError, match=r"raise log\.cleaner\.dedupe\.buffer\.size"):
        cleaned.run(plan)


def test_stopped_pass_leaves_no_files() -> None:
    for steps in range(9):
        cleaned, plan = filled()

        with pytest.raises(CleaningStoppedError):
            cleaned.run(plan, Watched(stop_after=steps))

        assert cleaned.place.names(".cleaned") == []


@pytest.mark.parametrize("call", ("append", "pread", "pwrite", "sync", "sync_directory", "create"))
def test_failed_pass_leaves_no_files_and_reports_the_reason(call: str) -> None:
    cleaned, plan = filled()
    cleaned.place.files.script.add(FileFault(on=call, path="/d/t-0*", code=errno.ENOSPC))

    with pytest.raises(CleaningFailedError, match="No space left"):
        cleaned.run(plan)

    assert cleaned.place.names(".cleaned") == []


def test_pass_fails_on_records_that_are_damaged() -> None:
    cleaned, plan = filled()
    path = f"{DIRECTORY}/{2:020}.log"
    cleaned.place.files.open(path, writable=True).pwrite(b"?", 70)

    with pytest.raises(CleaningFailedError, match=r"2\.log: the checksum is wrong \(position 0"):
        cleaned.run(plan)


def test_pass_removes_files_of_an_earlier_pass() -> None:
    cleaned, plan = filled()
    cleaned.place.files.create(f"{DIRECTORY}/{0:020}.log.cleaned").append(b"half")
    cleaned.place.files.create(f"{DIRECTORY}/{2:020}.log.cleaned")

    cleaned.run(plan)

    assert "2.log.cleaned" not in cleaned.place.names()


@pytest.mark.parametrize("call", ("pread", "append", "sync"))
def test_pass_with_read_ahead_has_the_same_output_or_none(call: str) -> None:
    cleaned, plan = filled()
    alone = cleaned.run(plan)
    names = cleaned.place.files.list(DIRECTORY)
    before = [cleaned.place.bytes_of(name) for name in names]
    cleaned.worker = ThreadWorker(1)

    assert cleaned.run(plan) == alone
    assert [cleaned.place.bytes_of(name) for name in names] == before
    cleaned.place.files.script.add(FileFault(on=call, path="/d/t-0*", code=errno.ENOSPC))
    with pytest.raises(CleaningFailedError, match="No space left"):
        cleaned.run(plan)
    assert cleaned.place.names(".cleaned") == []


def test_pass_keeps_away_from_segments_that_are_being_replaced() -> None:
    cleaned, plan = filled()
    cleaned.place.files.create(f"{DIRECTORY}/{2:020}.log.swap")
    cleaned.place.files.create(f"{DIRECTORY}/{0:020}.log.cleaned")

    with pytest.raises(CleaningFailedError, match="swap is unfinished"):
        cleaned.run(plan)

    assert "0.log.cleaned" in cleaned.place.names()


def test_erased_keys_are_removed_from_all_segments_and_not_named_in_the_certificate() -> None:
    cleaned, _ = filled()
    cleaned.clean()

    said = cleaned.clean(PassOptions(erased_keys=frozenset({b"c"}))).certificate

    assert cleaned.texts == ["2:a3", "5:b-", "6:d6"]
    assert said.erased_keys == ()


def test_inline_runner_runs_passes_where_it_is_called() -> None:
    cleaned, plan = filled()
    runner = InlineRunner(cleaned.place.files, PLAIN)

    cleaning = runner.run(cleaned.job(plan), Watched())
    runner.close()

    again = run_pass(cleaned.job(plan), cleaned.place.files, engine=PLAIN, control=Watched())
    assert cleaning == again
    assert cleaning.groups == (
        CleanedGroup((0, 2, 4), (CleanedSegment(0, cleaning.certificate.counts.bytes_kept),)),
    )
