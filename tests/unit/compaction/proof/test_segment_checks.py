"""The files of a cleaning: replaced, replacing, and required ones."""

from dataclasses import replace

import pytest

from cordwood.compaction.cleaning_job import CleanedGroup, CleanedSegment, CleaningResult
from cordwood.compaction.proof.segment_checks import files_as_they_are, files_of
from cordwood.core.types import Offset, TimestampMs
from cordwood.storage.files.file_names import CLEANED, INDEX, LOG, segment_name
from tests.unit.compaction.both_sides import DIRECTORY, MODIFIED, BothSides
from tests.unit.compaction.compaction_samples import batch

ONE, TWO, THREE = batch(0, "a1"), batch(1, "b1"), batch(2, "c1")
OTHERS = "other segments are replaced than planned"
WRONG_END = "the end is not that of the segments that are replaced"


def log() -> BothSides:
    """Return a log of three segments, of which the first two become one."""
    before = {0: [ONE], 1: [TWO], 2: [THREE]}
    return BothSides(before, {0: [ONE, TWO], 2: [THREE]}, end=3, groups=[[0, 1], [2]])


def wrongs(found: BothSides, cleaning: CleaningResult | None = None) -> list[str]:
    faults = files_of(found.reading.source, cleaning or found.cleaning(), plan=found.plan).faults
    return [fault.what for fault in faults]


def with_groups(*groups: CleanedGroup, end: int = 3) -> CleaningResult:
    return log().cleaning()._replace(groups=groups, end=end)


def test_files_are_those_of_the_plan_and_of_the_result() -> None:
    found = files_of(log().reading.source, log().cleaning(), plan=log().plan)

    assert found.faults == ()
    assert [(file.base_offset, file.group) for file in found.before] == [(0, 0), (1, 0), (2, 1)]
    assert [(file.base_offset, file.group) for file in found.after] == [(0, 0), (2, 1)]


def test_original_files_are_input_and_output_of_a_log_verified_alone() -> None:
    found = files_as_they_are(log().plan)

    assert found.before == found.after
    assert [file.name for file in found.before] == [
        segment_name(Offset(base), LOG) for base in (0, 1, 2)
    ]


FIRST, SECOND = log().cleaning().groups


@pytest.mark.parametrize(
    ("groups", "end", "words"),
    (
        ((FIRST, SECOND), 3, []),
        ((FIRST,), 2, []),
        ((FIRST._replace(replaced=(0,)),), 1, []),
        ((SECOND,), 3, [OTHERS]),
        ((FIRST._replace(replaced=(0,)), SECOND), 3, [OTHERS]),
        ((FIRST, SECOND._replace(replaced=(2, 3))), 3, [OTHERS]),
        ((FIRST, SECOND, SECOND), 3, [OTHERS]),
        ((FIRST, SECOND), 2, [WRONG_END]),
        ((), 3, [OTHERS]),
    ),
)
def test_groups_must_be_those_of_the_plan_in_order(
    groups: tuple[CleanedGroup, ...], end: int, words: list[str]
) -> None:
    found = wrongs(log(), with_groups(*groups, end=end))

    assert [each for each in found if each in {OTHERS, WRONG_END}] == words


def test_grown_segment_is_a_violation() -> None:
    found = log()
    found.put(1, LOG, TWO + TWO, suffix="")

    assert wrongs(found) == ["a segment is not as long as it was when the pass was planned"]


def test_missing_segment_of_the_plan_is_a_violation() -> None:
    found = log()
    found.files.remove(f"{DIRECTORY}/{segment_name(Offset(1), LOG)}")

    assert wrongs(found) == ["a segment of the plan is missing"]


def test_missing_cleaned_segment_is_a_violation() -> None:
    found = log()
    found.files.remove(f"{DIRECTORY}/{segment_name(Offset(2), LOG, suffix=CLEANED)}")

    assert wrongs(found) == ["a cleaned segment is missing"]


def test_cleaned_segment_must_have_the_timestamp_of_the_last_replaced_segment() -> None:
    found = log()
    path = f"{DIRECTORY}/{segment_name(Offset(0), LOG, suffix=CLEANED)}"
    found.files.set_modified(path, TimestampMs(MODIFIED + 1))

    assert wrongs(found) == ["a cleaned segment has another size or date"]


def test_cleaned_segment_must_have_the_reported_size() -> None:
    first = FIRST._replace(cleaned=(CleanedSegment(0, 1),))

    assert wrongs(log(), with_groups(first, SECOND)) == [
        "a cleaned segment has another size or date"
    ]


def test_group_must_start_at_its_base_offset() -> None:
    found = log()
    found.write(1, [TWO], suffix=CLEANED)
    first = FIRST._replace(cleaned=(CleanedSegment(1, len(TWO)),))

    assert "a group's segments do not have its base offset" in wrongs(
        found, with_groups(first, SECOND)
    )


def test_cleaned_segment_must_be_in_the_range_of_the_replaced_segments() -> None:
    found = log()
    first = FIRST._replace(cleaned=(*FIRST.cleaned, *SECOND.cleaned))

    assert wrongs(found, with_groups(first, SECOND)) == [
        "a cleaned segment begins after the segments that it replaces"
    ]


def test_unlisted_cleaned_file_is_a_violation() -> None:
    found = log()
    found.put(1, INDEX, b"")

    assert wrongs(found) == ["an unlisted cleaned file"]


def test_the_active_segment_is_not_cleaned() -> None:
    found = log()
    found.files.remove(f"{DIRECTORY}/{segment_name(Offset(3), LOG)}")

    assert wrongs(found) == ["no segment begins at the end: the last one of a log is never cleaned"]


def test_plan_without_groups_has_no_violations() -> None:
    found = log()
    found.plan = replace(found.plan, groups=())
    for base in (0, 2):
        for name in found.files.list(DIRECTORY):
            if name.startswith(f"{base:020}") and name.endswith(CLEANED):
                found.files.remove(f"{DIRECTORY}/{name}")

    assert wrongs(found, with_groups()) == []
