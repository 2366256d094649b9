"""Files next to a segment contradict wrong base offsets of its batches."""

import struct

import pytest

from cordwood.core.types import LeaderEpoch, Offset
from cordwood.storage.checkpoints.leader_epoch_cache import EpochEntry
from cordwood.storage.producers.producer_snapshot import encode_snapshot
from cordwood.storage.producers.producer_state_entry import BatchMetadata, ProducerStateEntry
from cordwood.workbench.salvage.offset_witnesses import FreeOffsets, OffsetWitnesses, SnapshotFile
from cordwood.workbench.salvage.salvage import salvage
from cordwood.workbench.salvage.salvaged_batch import SalvagedBatch
from tests.unit.workbench.salvage_samples import (
    SOURCE,
    batch,
    directory,
    headed,
    idempotent,
    indexes,
    ports,
)

EPOCHS = tuple(
    EpochEntry(LeaderEpoch(epoch), Offset(start)) for epoch, start in ((1, 4), (3, 10), (4, 20))
)
#: The last batch of producer 7 has the sequences 8 and 9.
STATE = ProducerStateEntry(7, 0, (BatchMetadata(9, 11, 1, 1000),), -1, 1000)


def salvaged_batch(data: bytes, *, offset: int, epoch: int = 0) -> SalvagedBatch:
    return SalvagedBatch("file", headed(data), offset=offset, epoch=epoch)


def with_epoch(offset: int, epoch: int) -> SalvagedBatch:
    return salvaged_batch(batch(offset, 2), offset=offset, epoch=epoch)


def snapshot(data: bytes) -> SnapshotFile:
    return SnapshotFile(directory({f"{20:020}.snapshot": data}), SOURCE, 20)


@pytest.mark.parametrize(
    ("offset", "epoch", "room", "is_wrong"),
    (
        (10, 3, FreeOffsets(0, 30), False),
        (18, 3, FreeOffsets(0, 30), False),
        (9, 3, FreeOffsets(0, 12), True),
        (9, 3, FreeOffsets(0, 11), False),
        (19, 3, FreeOffsets(18, 30), True),
        (19, 3, FreeOffsets(19, 30), False),
        (19, 2, FreeOffsets(0, 30), False),
        (30, 4, FreeOffsets(10, None), False),
        (9, 9, FreeOffsets(0, None), False),
    ),
)
def test_batch_outside_of_its_epoch_is_contradicted_if_it_has_room_in_it(
    offset: int, epoch: int, room: FreeOffsets, *, is_wrong: bool
) -> None:
    witnesses = OffsetWitnesses(epochs=EPOCHS)

    assert witnesses.contradict(with_epoch(offset, epoch), room) is is_wrong


@pytest.mark.parametrize("has_first_epoch", (True, False))
def test_first_epoch_may_have_begun_before_the_log_start(*, has_first_epoch: bool) -> None:
    witnesses = OffsetWitnesses(epochs=EPOCHS, has_first_epoch=has_first_epoch)

    assert witnesses.contradict(with_epoch(2, 1), FreeOffsets(0, 30)) is has_first_epoch


@pytest.mark.parametrize(
    ("offset", "sequence", "room", "is_wrong"),
    (
        (10, 8, FreeOffsets(0, 30), False),
        (11, 8, FreeOffsets(0, 30), True),
        (9, 8, FreeOffsets(0, 12), True),
        (9, 8, FreeOffsets(0, 11), True),
        (12, 8, FreeOffsets(11, 30), True),
        (11, 7, FreeOffsets(0, 30), False),
    ),
)
def test_snapshot_has_the_offset_of_a_producer_s_last_batch(
    offset: int, sequence: int, room: FreeOffsets, *, is_wrong: bool
) -> None:
    witnesses = OffsetWitnesses(snapshot=snapshot(encode_snapshot([STATE])))
    found = salvaged_batch(idempotent(sequence, 2), offset=offset)

    assert witnesses.contradict(found, room) is is_wrong


def test_damaged_snapshot_and_other_batches_have_no_offset() -> None:
    whole = OffsetWitnesses(snapshot=snapshot(encode_snapshot([STATE])))
    damaged = OffsetWitnesses(snapshot=snapshot(b"damaged"))

    assert not damaged.contradict(salvaged_batch(idempotent(8, 2), offset=11), FreeOffsets(0, 30))
    assert not whole.contradict(salvaged_batch(batch(8, 2), offset=11), FreeOffsets(0, 30))


def test_index_counts_only_on_sides_without_damage() -> None:
    """The sample batch has the latest time of both entries."""
    early, late = (indexes(0, struct.pack(">qi", 1003, at)) for at in (3, 20))
    found = salvaged_batch(batch(8), offset=8)

    assert OffsetWitnesses(early).contradict(found, FreeOffsets(0, 30))
    assert not OffsetWitnesses(early).contradict(found, FreeOffsets(0, 30, is_certain_before=False))
    assert OffsetWitnesses(late).contradict(found, FreeOffsets(0, 30))
    assert not OffsetWitnesses(late).contradict(found, FreeOffsets(0, 30, is_certain_behind=False))
    assert not OffsetWitnesses(late).contradict(found, FreeOffsets(8, 12))


@pytest.mark.parametrize("is_start_known", (True, False))
def test_salvage_doubts_a_batch_before_the_first_epoch_if_the_log_start_is_known(
    *, is_start_known: bool
) -> None:
    contents = {
        f"{0:020}.log": batch(2, 1, epoch=1) + batch(8, epoch=1),
        "leader-epoch-checkpoint": b"0\n1\n1 3\n",
    }
    beside = {"cleaner-offset-checkpoint": b"0\n1\nt 0 12\n"}
    if is_start_known:
        beside["recovery-point-offset-checkpoint"] = b"0\n1\nt 0 12\n"

    report = salvage(ports(directory(contents, beside=beside)), SOURCE, out="/out")

    assert [each[:2] for each in report.doubtful] == [(2, 2)] * is_start_known


def test_salvage_reads_the_snapshot_at_the_end_of_a_segment() -> None:
    contents = {
        f"{0:020}.log": idempotent(8, 2),
        f"{12:020}.log": batch(12),
        f"{12:020}.snapshot": encode_snapshot([STATE]),
    }
    beside = {"cleaner-offset-checkpoint": b"0\n1\nt 0 12\n"}

    report = salvage(ports(directory(contents, beside=beside)), SOURCE, out="/out")

    assert [each[:2] for each in report.doubtful] == [(8, 9)]
