"""Aborted transactions come from the indexes, and from the log where these are unconfirmed."""

from pathlib import Path

import pytest

from cordwood.compaction.passes.aborted_transactions import AbortedTransactions
from cordwood.compaction.plan.plan_builder import PassOptions
from cordwood.core.system import SystemFiles
from cordwood.storage.segment.transaction_index import AbortedTxn
from tests.descriptors import open_descriptors
from tests.unit.compaction.cleaned_log import CleanedLog
from tests.unit.compaction.compaction_samples import batch
from tests.unit.storage.log_samples import DIRECTORY

FIRST, SECOND = AbortedTxn(1, 0, 2, 3), AbortedTxn(1, 3, 5, 6)


def aborted_twice() -> tuple[CleanedLog, AbortedTransactions]:
    """Return a log of two closed segments, each with an aborted transaction."""
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


def test_entries_of_all_segments_are_read_from_the_indexes() -> None:
    _, aborted = aborted_twice()

    assert aborted.read_indexes() == (FIRST, SECOND)


def test_transaction_that_begins_after_the_pass_is_not_read() -> None:
    cleaned, _ = aborted_twice()
    plan = cleaned.plan(PassOptions(until=3))
    assert plan is not None

    assert AbortedTransactions(cleaned.place.files, DIRECTORY, plan).read_indexes() == (FIRST,)


def test_files_are_closed_at_the_end(tmp_path: Path) -> None:
    cleaned, _ = aborted_twice()
    plan = cleaned.plan()
    assert plan is not None
    for name in cleaned.place.files.list(DIRECTORY):
        (tmp_path / name).write_bytes(cleaned.place.bytes_of(name))
    before = open_descriptors()
    aborted = AbortedTransactions(SystemFiles(), str(tmp_path), plan)

    aborted.read_indexes()
    aborted.recheck(0)
    aborted.close()

    assert open_descriptors() == before


def test_damaged_index_has_no_entries() -> None:
    cleaned, aborted = aborted_twice()
    cleaned.place.files.open(index_of(0), writable=True).pwrite(b"\x07", 0)

    assert aborted.read_indexes() == (SECOND,)


@pytest.mark.parametrize("unconfirmed_from", (0, 1, 2, 3, 4, 5))
def test_recheck_confirms_correct_entries(unconfirmed_from: int) -> None:
    _, aborted = aborted_twice()
    aborted.read_indexes()

    assert aborted.recheck(unconfirmed_from)
    assert aborted.entries == (FIRST, SECOND)


def test_recheck_finds_the_transaction_of_a_lost_index() -> None:
    cleaned, aborted = aborted_twice()
    cleaned.place.files.remove(index_of(3))
    assert aborted.read_indexes() == (FIRST,)

    assert not aborted.recheck(3)
    assert aborted.entries == (FIRST, SECOND)
    aborted.close()
