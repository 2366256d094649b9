"""File names in a partition's directory that do not belong to a log."""

import pytest

from cordwood.workbench.verify.file_name_checks import check_names, find_orphans
from cordwood.workbench.verify.findings import Severity
from tests.unit.storage.reader_samples import name

USUAL = [name(0), name(0, ".index"), name(7, ".snapshot"), "partition.metadata"]


def test_usual_names_are_passed_over() -> None:
    usual = [*USUAL, "leader-epoch-checkpoint", "leader-epoch-checkpoint.tmp"]

    assert list(check_names("/d", usual, bases={0})) == []


def test_name_like_a_segments_is_damage() -> None:
    (found,) = check_names("/d", ["1.log"], bases={0})

    assert (found.severity, found.path, found.found) == (Severity.DAMAGE, "/d/1.log", "1")


def test_leftover_and_unknown_files_are_notes() -> None:
    names = [name(0, ".log.deleted"), name(0, ".index"), *"abcde"]

    left, strange = check_names("/d", names, bases={3})

    assert left.cause.endswith(f"deleted: {name(0, '.log.deleted')}, {name(0, '.index')}")
    assert strange.cause == "files that do not belong to a log: a, b, c and 2 more"


def test_index_of_a_missing_log_is_kept_as_a_witness() -> None:
    (found,) = check_names("/d", [*USUAL, name(5, ".index")], bases={0})

    assert found.severity is Severity.NOTE
    assert found.cause == f"indexes of segments whose log is missing: {name(5, '.index')}"
    assert found.remedy.startswith("keep a copy")


def test_swap_files_are_pending_and_not_leftovers() -> None:
    (found,) = check_names("/d", [*USUAL, name(0, ".log.swap")], bases={0})

    assert found.cause == f"files of an unfinished compaction or split: {name(0, '.log.swap')}"


def test_orphans_are_bases_of_indexes_without_a_log() -> None:
    names = [*USUAL, name(5, ".index"), name(9, ".index.deleted"), "x"]

    assert find_orphans(names) == {5}


@pytest.mark.parametrize(
    "names",
    (
        [name(5, ".log.deleted"), name(5, ".index")],
        [name(5, ".log"), name(5, ".index"), name(0, ".log.swap"), name(0, ".index.swap")],
        [name(5, ".index"), name(0, ".log.swap")],
        [name(5, ".log"), name(5, ".index.swap")],
        [name(5, ".log.swap"), name(5, ".index.cleaned")],
        [name(5, ".index.swap"), name(5, ".timeindex.cleaned")],
    ),
    ids=(
        *("deleted in part", "replaced", "replaced in part", "swapped in part", "renamed in part"),
        "undone in part",
    ),
)
def test_replacement_that_was_stopped_leaves_no_orphan(names: list[str]) -> None:
    found = [*USUAL, *names]

    assert find_orphans(found) == set()
    assert {each.severity for each in check_names("/d", found, bases={0, 5})} <= {Severity.NOTE}


def test_swap_index_without_a_log_is_damage() -> None:
    names = [*USUAL, name(5, ".index.swap")]

    _, found = check_names("/d", names, bases={0})

    assert (found.severity, found.path) == (Severity.DAMAGE, f"/d/{name(5, '.log.swap')}")
    assert find_orphans(names) == {5}


def test_index_that_is_missing_is_a_note_but_of_the_last_segment() -> None:
    names = [name(0), name(5), name(9), name(5, ".index")]

    (found,) = check_names("/d", names, bases={0, 5, 9})

    assert found.severity is Severity.NOTE
    assert found.cause == "segments without an offset index: 0"
