"""Crash cleanup finishes or undoes swaps and deletions, wherever the process stopped."""

import random

import pytest

from cordwood.core.types import Offset
from cordwood.storage.files.file_names import segment_name
from cordwood.storage.log.crash_cleanup import (
    CrashCleanup,
    clean_up_crash,
    remove_cleaned,
    remove_orphans,
    segment_bases,
)
from cordwood.testing.file_faults import PowerLoss
from cordwood.testing.memory_files import MemoryFiles

DIRECTORY = "/t-0"
ENDS = {0: 100, 100: 200, 200: 300}


def name(short: str) -> str:
    """Return the full name of `7.log.swap`, with leading zeros."""
    base, _, rest = short.partition(".")
    return segment_name(Offset(int(base)), f".{rest}") if base.isdigit() else short


def directory(*shorts: str) -> MemoryFiles:
    """Return a durable directory of files that each contain their own name."""
    files = MemoryFiles()
    files.make_directory(DIRECTORY)
    files.sync_directory("/")
    for short in shorts:
        file = files.create(f"{DIRECTORY}/{name(short)}")
        file.append(short.encode())
        file.sync()
    files.sync_directory(DIRECTORY)
    return files


def clear(files: MemoryFiles) -> CrashCleanup:
    return clean_up_crash(files, DIRECTORY, swap_next_offset=ENDS.__getitem__)


def contents(files: MemoryFiles) -> dict[str, str]:
    """Return the content of each file by its short name."""
    found = {}
    for each in files.list(DIRECTORY):
        base, _, rest = each.partition(".")
        file = files.open(f"{DIRECTORY}/{each}")
        short = f"{int(base)}.{rest}" if base.isdigit() else each
        found[short] = file.pread(file.size, 0).decode()
    return found


def left(*shorts: str) -> list[str]:
    """Return the files of a directory after its cleanup."""
    files = directory(*shorts)
    clear(files)
    return list(contents(files))


SPLIT_SOURCE = ("0.index", "0.log", "0.txnindex")


def test_files_of_a_deleted_segment_are_removed() -> None:
    assert left("0.log.deleted", "0.index.deleted", "0.snapshot.deleted", "5.log") == ["5.log"]


def test_files_that_are_no_segments_are_left_alone() -> None:
    others = ["leader-epoch-checkpoint", "notes.swap", "partition.metadata"]

    assert left(*others, "7.checkpoint.deleted") == ["7.checkpoint.deleted", *others]


def test_files_that_were_being_cleaned_are_removed_and_originals_stay() -> None:
    assert left("0.log", "0.log.cleaned", "0.index.cleaned", "100.log") == ["0.log", "100.log"]


def test_swap_at_or_above_the_lowest_cleaned_is_reverted() -> None:
    assert left("0.log", "0.log.cleaned", "0.timeindex.swap", "100.log.swap") == ["0.log"]


def test_swap_below_the_lowest_cleaned_is_completed() -> None:
    files = directory("0.log", "0.log.swap", "100.log", "100.log.cleaned")

    done = clear(files)

    assert contents(files) == {"0.log": "0.log.swap", "100.log": "100.log"}
    assert done.completed == (name("0.log"),)


def test_swap_removes_everything_in_its_range() -> None:
    files = directory(
        *("0.log.swap", "0.index.swap", "100.log.swap"),
        *("0.log", "0.txnindex", "40.log", "40.snapshot", "199.timeindex", "200.log", "200.index"),
    )

    done = clear(files)

    assert contents(files) == {
        "0.index": "0.index.swap",
        "0.log": "0.log.swap",
        "100.log": "100.log.swap",
        "200.index": "200.index",
        "200.log": "200.log",
    }
    assert len(done.removed) == 5
    assert len(done.completed) == 3


def test_swap_keeps_segments_below_it() -> None:
    assert left("0.log", "0.index", "100.log", "100.log.swap") == ["0.index", "0.log", "100.log"]


def test_swap_of_an_index_alone_is_renamed() -> None:
    files = directory("0.log", "0.timeindex", "0.timeindex.swap")

    clear(files)

    assert contents(files) == {"0.log": "0.log", "0.timeindex": "0.timeindex.swap"}


def test_directory_in_order_is_not_written_to() -> None:
    files = directory("0.log", "0.index", "0.snapshot")
    before = files.script.write_points

    assert clear(files) == CrashCleanup((), ())
    assert remove_orphans(files, DIRECTORY) == ()
    assert files.script.write_points == before


@pytest.mark.parametrize(
    "shorts",
    (
        ("0.log.swap", "100.log.swap", "200.log.cleaned", *SPLIT_SOURCE),
        ("0.log.cleaned", "100.log.swap", "200.log.swap", *SPLIT_SOURCE),
        ("0.log.swap", "0.index.swap", "100.log.swap", "0.log.deleted", "0.txnindex"),
        ("0.log.swap", "0.index.swap", "100.log.swap", "40.log", "40.snapshot", *SPLIT_SOURCE),
    ),
)
@pytest.mark.parametrize("seed", range(5))
def test_clearing_ends_the_same_after_a_crash_at_any_point(
    shorts: tuple[str, ...], seed: int
) -> None:
    chance = random.Random(seed)
    whole = directory(*shorts)
    clear(whole)

    for write_points in range(30):
        files = directory(*shorts)
        files.script.stop_after(write_points)
        try:
            clear(files)
        except PowerLoss:
            pending = range(len(files.pending()))
            files.crash([number for number in pending if chance.random() < 0.5])
            clear(files)
        files.crash()
        assert contents(files) == contents(whole)


def test_indexes_without_a_log_are_removed() -> None:
    files = directory("0.log", "0.index", "5.index", "5.timeindex", "6.txnindex", "6.snapshot")

    gone = remove_orphans(files, DIRECTORY)

    assert gone == (name("5.index"), name("5.timeindex"), name("6.txnindex"))
    assert list(contents(files)) == ["0.index", "0.log", "6.snapshot"]


def test_segments_are_found_by_their_logs() -> None:
    files = directory("100.log", "20.log", "0.index", "7.log.deleted", "9.log.swap")

    assert segment_bases(files, DIRECTORY) == [20, 100]


def test_empty_swap_replaces_the_indexes_of_its_own_base() -> None:
    files = directory("0.log", "0.txnindex", "100.log", "0.log.swap")

    clean_up_crash(files, DIRECTORY, swap_next_offset=lambda base: base)

    assert contents(files) == {"0.log": "0.log.swap", "100.log": "100.log"}


def test_only_cleaned_files_are_removed() -> None:
    files = directory("0.log", "0.log.cleaned", "0.index.cleaned", "100.log.deleted")

    remove_cleaned(files, DIRECTORY)

    assert list(contents(files)) == ["0.log", "100.log.deleted"]
