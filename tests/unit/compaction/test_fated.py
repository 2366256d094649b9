"""The batches of a chunk come with their fates and numbers, and are checked."""

import pytest

from cordwood.compaction.fated import fated_batches
from cordwood.compaction.fates import Fate
from cordwood.core.errors import CorruptMessageError
from tests.unit.compaction.compaction_samples import batch, chunk, marker


def test_batches_have_their_fates_and_the_numbers_of_their_records() -> None:
    parts = batch(0, "a1 b2"), marker(2, is_commit=True), batch(3, "c3")

    found = list(fated_batches(chunk(*parts, fates={1: Fate.CONTROL}, first_number=7)))

    assert [each.first_number for each in found] == [7, 9, 9]
    assert [each.fate for each in found] == [Fate.NONE, Fate.CONTROL, Fate.NONE]


def test_batch_with_a_wrong_checksum_is_refused() -> None:
    damaged = bytearray(batch(0, "a1"))
    damaged[-2] ^= 1

    with pytest.raises(CorruptMessageError, match="checksum"):
        list(fated_batches(chunk(bytes(damaged))))


def test_chunk_that_ends_within_a_batch_is_refused() -> None:
    with pytest.raises(CorruptMessageError, match="cut off"):
        list(fated_batches(chunk(batch(0, "a1")[:-1])))
