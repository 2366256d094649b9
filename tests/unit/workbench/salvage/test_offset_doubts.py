"""Batches in the chain are doubtful next to damage that their offsets do not agree with."""

import struct

import pytest

from cordwood.storage.producers.producer_snapshot import encode_snapshot
from cordwood.storage.producers.producer_state_entry import BatchMetadata, ProducerStateEntry
from cordwood.workbench.salvage.batch_chain import BatchChain
from cordwood.workbench.salvage.file_bounds import FileBounds
from cordwood.workbench.salvage.offset_witnesses import OffsetWitnesses, SnapshotFile
from cordwood.workbench.salvage.salvaged_batch import Trust
from tests.unit.workbench.salvage_samples import (
    SOURCE,
    batch,
    broken,
    chain_of,
    directory,
    harmed,
    idempotent,
    indexes,
)


def trusts(chain: BatchChain) -> list[tuple[int, Trust]]:
    return [(each.offset, each.trust) for each in chain.batches]


@pytest.mark.parametrize(
    ("after", "mask", "trust"),
    ((8, 0x55, Trust.LED), (9, 0x55, Trust.UNJOINED), (9, 0x40, Trust.LED)),
)
def test_batch_with_a_repaired_size_is_doubtful_unless_it_joins_both_neighbours(
    after: int, mask: int, trust: Trust
) -> None:
    """If bytes are missing behind its base offset, that is the offset of another batch.

    A single wrong bit is a bit error.
    """
    data = batch(0) + harmed(batch(4), 11, mask=mask) + batch(after)

    chain = chain_of(data, bounds=FileBounds(0, after + 4))

    assert trusts(chain) == [(0, Trust.LED), (4, trust), (after, Trust.LED)]


@pytest.mark.parametrize(("offset", "trust"), ((4, Trust.LED), (5, Trust.UNJOINED)))
def test_batch_with_the_offsets_of_a_damaged_one_behind_it_is_doubtful(
    offset: int, trust: Trust
) -> None:
    """A cleaner has left gaps, so the offsets need not join."""
    data = batch(0, 2) + batch(offset) + broken(batch(8, 1)) + batch(20)

    chain = chain_of(data, bounds=FileBounds(0, 24, cleaned_to=24))

    assert trusts(chain) == [(0, Trust.LED), (offset, trust), (20, Trust.LED)]


def test_batch_below_the_damaged_one_before_it_is_doubtful() -> None:
    data = broken(batch(5)) + batch(0, 2) + batch(20)

    chain = chain_of(data, bounds=FileBounds(0, 24, cleaned_to=24))

    assert trusts(chain) == [(0, Trust.UNJOINED), (20, Trust.LED)]


def test_batch_at_the_first_offset_of_a_log_without_a_cleaner_is_put_next_to_its_neighbour() -> (
    None
):
    chain = chain_of(b"\7" * 70 + batch(0) + batch(8), bounds=FileBounds(0, 12))

    assert trusts(chain) == [(4, Trust.MOVED), (8, Trust.CONFIRMED)]


def test_batch_that_joins_a_neighbour_is_certain_next_to_damage() -> None:
    chain = chain_of(batch(0) + b"\7" * 70 + batch(8), bounds=FileBounds(0, 12))

    assert trusts(chain) == [(0, Trust.LED), (8, Trust.CONFIRMED)]


@pytest.mark.parametrize(("entry", "trust"), ((20, Trust.UNJOINED), (0, Trust.LED)))
def test_batch_before_missing_bytes_is_doubtful(entry: int, trust: Trust) -> None:
    """They were cut out: its header may be that of a batch that is gone."""
    data = batch(0) + batch(4) + batch(9) + batch(13)
    positions = struct.pack(">iiii", 3, 0, 16, 3 * len(batch()) + entry)
    witnesses = OffsetWitnesses(indexes(0, positions=positions))

    chain = chain_of(data, bounds=FileBounds(0, 17, cleaned_to=17, witnesses=witnesses))

    assert trusts(chain) == [(0, Trust.LED), (4, trust), (9, Trust.LED), (13, Trust.LED)]


def test_time_of_a_damaged_batch_does_not_make_the_next_one_doubtful() -> None:
    """The index has the first batch of that time; the other joins both neighbours."""
    data = batch(0, 2) + broken(batch(2, 2)) + batch(4) + batch(8)
    witnesses = OffsetWitnesses(indexes(0, struct.pack(">qi", 1003, 3)))

    chain = chain_of(data, bounds=FileBounds(0, 12, witnesses=witnesses))

    assert trusts(chain)[-2:] == [(4, Trust.LED), (8, Trust.LED)]


@pytest.mark.parametrize(("base", "trust"), ((66, Trust.UNJOINED), (2, Trust.LED)))
def test_batches_that_join_only_a_contradicted_one_are_doubtful(base: int, trust: Trust) -> None:
    """A snapshot has the offset of the last one; both were moved as far."""
    state = ProducerStateEntry(7, 0, (BatchMetadata(base, 2, 0, 1000),), -1, 1000)
    files = directory({f"{3:020}.snapshot": encode_snapshot([state])})
    witnesses = OffsetWitnesses(snapshot=SnapshotFile(files, SOURCE, 3))
    data = batch(0, 1) + batch(base - 1, 1) + idempotent(base)

    chain = chain_of(data, bounds=FileBounds(0, witnesses=witnesses))

    assert trusts(chain) == [(0, Trust.LED), (base - 1, trust), (base, trust)]
