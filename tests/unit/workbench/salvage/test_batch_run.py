"""Adjacent batches are one run, and are read again from it."""

from cordwood.workbench.salvage.batch_run import batches_of, cleaned_end, runs_of
from tests.unit.workbench.dump_samples import FOLDER
from tests.unit.workbench.salvage_samples import (
    batch,
    chain_of,
    cleaned_batch,
    harmed,
    marker,
    runs_in,
    transactional,
)


def test_adjacent_batches_are_one_run() -> None:
    ((run,),), windows = runs_in({"a": batch(0) + batch(4) + batch(8)})

    assert (run.first, run.last, run.batch_count, run.size) == (0, 11, 3, 3 * len(batch()))
    assert [each.offset for each in batches_of(run, windows)] == [0, 4, 8]


def test_repaired_batch_is_a_run_of_its_own() -> None:
    ((one, two, three),), windows = runs_in({"a": batch(0) + harmed(batch(4), 70) + batch(8)})

    assert (one.only, three.only) == (None, None)
    assert list(batches_of(two, windows)) == [two.only]


def test_gap_ends_a_run_unless_a_cleaner_has_left_it() -> None:
    found = chain_of(batch(0) + batch(10) + batch(20)).batches

    (cleaned,) = runs_of(found, cleaned_to=24)

    assert cleaned.gaps == (2, 12, 4, 19)
    assert len(list(runs_of(found))) == 3


def test_gaps_before_a_cleaned_batch_end_no_run() -> None:
    data = batch(0) + batch(4) + batch(10) + batch(20) + cleaned_batch(30) + batch(40)
    found = chain_of(data).batches

    one, other = runs_of(found)

    assert cleaned_end(found) == 34
    assert one[1:10] == (0, other.position, 0, 33, 5, len(batch()), 34, (3, 14, 8, 29), ())
    assert (other.first, other.gaps.number) == (40, 0)


def test_each_gap_ends_a_run_of_a_foreign_file() -> None:
    found = chain_of(batch(0) + batch(10) + cleaned_batch(20)).batches

    assert [each.first for each in runs_of(found, foreign=["file"])] == [0, 10, 20]


def test_run_has_its_transactions() -> None:
    ((run,),), _ = runs_in({"a": transactional(0) + transactional(1) + marker(2) + batch(3)})

    assert [(each.first, each.last, each.is_commit) for each in run.events] == [
        (0, 1, None),
        (2, 2, True),
    ]


def test_windows_keep_a_few_files_open() -> None:
    contents = {str(at): batch(4 * at) for at in range(9)}
    _, windows = runs_in(contents)

    for _ in range(2):
        for name, data in contents.items():
            assert windows.window(f"{FOLDER}/{name}").end == len(data)
    windows.close()
