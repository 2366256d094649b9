"""Indexes tell of aborted transactions, and the log where they are in doubt."""

from pathlib import Path

import pytest

from cordwood.compaction.aborted import AbortedTransactions
from cordwood.compaction.planning import Wishes
from cordwood.core.system import SystemFiles
from cordwood.storage.index import AbortedEntry
from tests.descriptors import open_descriptors
from tests.unit.compaction.cleaning import CleanedLog
from tests.unit.compaction.compaction_samples import batch
from tests.unit.storage.log_samples import DIRECTORY

FIRST, SECOND = AbortedEntry(1, 0, 2, 3), AbortedEntry(1, 3, 5, 6)


def aborted_twice() -> tuple[CleanedLog, AbortedTransactions]:
    """Return a log of two closed segments, in each of which a transaction was aborted."""
    cleaned = CleanedLog()
    for text in ("a1 b1", "a2 b2"):
        cleaned.send(text)
        cleaned.end(1, is_commit=False, is_rolled=True)
    cleaned.put(batch(0, "c3"))
    plan = cleaned.plan()
    assert plan is not None
    return cleaned, AbortedTransactions(cleaned.place.files, DIRECTORY, plan)


def index_of(base: int) -> str:
    return f"{DIRECTORY}/{base:020}.txnindex"


def test_indexes_tell_of_all_segments() -> None:
    _, aborted = aborted_twice()

    assert aborted.indexed() == (FIRST, SECOND)


def test_transaction_that_begins_behind_the_pass_is_not_told() -> None:
    cleaned, _ = aborted_twice()
    plan = cleaned.plan(Wishes(until=3))
    assert plan is not None

    assert AbortedTransactions(cleaned.place.files, DIRECTORY, plan).indexed() == (FIRST,)


def test_files_are_closed_at_the_end(tmp_path: Path) -> None:
    cleaned, _ = aborted_twice()
    plan = cleaned.plan()
    assert plan is not None
    for name in cleaned.place.files.list(DIRECTORY):
        (tmp_path / name).write_bytes(cleaned.place.bytes_of(name))
    before = open_descriptors()
    aborted = AbortedTransactions(SystemFiles(), str(tmp_path), plan)

    aborted.indexed()
    aborted.is_borne_out(0)
    aborted.close()

    assert open_descriptors() == before


def test_index_that_is_damaged_tells_nothing() -> None:
    cleaned, aborted = aborted_twice()
    cleaned.place.files.open(index_of(0), writable=True).pwrite(b"\x07", 0)

    assert aborted.indexed() == (SECOND,)


@pytest.mark.parametrize("doubtful_from", (0, 1, 2, 3, 4, 5))
def test_log_bears_out_what_is_right(doubtful_from: int) -> None:
    _, aborted = aborted_twice()
    aborted.indexed()

    assert aborted.is_borne_out(doubtful_from)
    assert aborted.entries == (FIRST, SECOND)


def test_log_tells_what_a_lost_index_does_not() -> None:
    cleaned, aborted = aborted_twice()
    cleaned.place.files.remove(index_of(3))
    assert aborted.indexed() == (FIRST,)

    assert not aborted.is_borne_out(3)
    assert aborted.entries == (FIRST, SECOND)
    aborted.close()
