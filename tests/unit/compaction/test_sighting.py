"""A surveyor counts ordinary batches and notes those that may have a fate."""

import pytest

from cordwood.compaction.sighting import PlainSurveyor
from cordwood.core.errors import BadRecordsError
from cordwood.records.compression import Codec
from tests.unit.compaction.compaction_samples import batch, marker, old, sent
from tests.unit.storage.produced import patched

PLAIN = batch(0, "a1 b2 c3")


def test_surveyor_counts_records_and_notes_none_of_ordinary_batches() -> None:
    seen = PlainSurveyor().look(PLAIN + batch(3, "a4"))

    assert (seen.batches, seen.records, list(seen.noted)) == (2, 4, [])


def test_surveyor_notes_transactions_and_markers_and_numbers_no_marker() -> None:
    data = sent(3, "a4")

    seen = PlainSurveyor().look(PLAIN + data + marker(4, is_commit=True))

    assert list(seen.noted) == [len(PLAIN), len(PLAIN) + len(data)]
    assert seen.records == 4


def test_surveyor_notes_batches_that_end_with_what_it_was_asked_for() -> None:
    seen = PlainSurveyor({2}).look(PLAIN + batch(3, "a4"))

    assert list(seen.noted) == [0]


def test_surveyor_ends_before_a_batch_that_is_cut_off() -> None:
    seen = PlainSurveyor().look(PLAIN + batch(3, "a4")[:-1])

    assert (seen.size, seen.batches) == (len(PLAIN), 1)


def test_surveyor_counts_inside_wrappers() -> None:
    seen = PlainSurveyor().look(old(0, "a1 b2 c3", codec=Codec.GZIP) + old(3, "d4"))

    assert seen.records == 4


def test_surveyor_refuses_a_count_below_zero() -> None:
    forged = patched(PLAIN, 57, (-1).to_bytes(4, signed=True))

    with pytest.raises(BadRecordsError, match="record count"):
        PlainSurveyor().look(forged)
