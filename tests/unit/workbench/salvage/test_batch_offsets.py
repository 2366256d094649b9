"""A batch with a wrong base offset displaces no other one, and stays next to its neighbour."""

import pytest

from cordwood.core.types import LeaderEpoch, Offset
from cordwood.records.compression import Codec
from cordwood.records.legacy_builder import LegacyBuilder
from cordwood.storage.checkpoints.leader_epoch_cache import EpochEntry
from cordwood.workbench.salvage.batch_chain import BatchChain
from cordwood.workbench.salvage.file_bounds import FileBounds
from cordwood.workbench.salvage.offset_witnesses import OffsetWitnesses
from cordwood.workbench.salvage.salvaged_batch import Trust
from tests.unit.workbench.salvage_samples import batch, chain_of, harmed

#: Damage whose size leads nowhere: what is behind it is found by a search.
LOST = b"\1" * 70
OPEN = FileBounds(0)


def log(*bases: int) -> bytes:
    """Return batches of four records with these base offsets."""
    return b"".join(batch(base) for base in bases)


def placed(data: bytes, bounds: FileBounds = OPEN) -> list[tuple[int, str]]:
    """Return the base offset and the trust of each batch in the chain."""
    return [(each.offset, each.trust.name) for each in chain_of(data, bounds=bounds).batches]


def lost(chain: BatchChain) -> list[tuple[int, int | None]]:
    return [each[:2] for each in chain.damages]


@pytest.mark.parametrize("wrong", (36, 1 << 50, 2, 5))
def test_batch_with_a_wrong_offset_before_damage_displaces_none_behind_it(wrong: int) -> None:
    found = placed(log(0, wrong) + LOST + log(12, 16), FileBounds(0, 50))

    assert [offset for offset, _ in found] == [0, wrong if wrong == 5 else 4, 12, 16]
    assert [trust for _, trust in found[1:]] == [
        "UNJOINED" if wrong == 5 else "MOVED",
        "FOUND",
        "FOUND",
    ]


def test_first_batch_of_a_file_with_a_wrong_offset_begins_at_its_base() -> None:
    assert placed(log(900) + LOST + log(8), FileBounds(0, 50)) == [(0, "MOVED"), (8, "FOUND")]


def test_place_of_a_moved_batch_is_lost() -> None:
    chain = chain_of(log(0, 36) + LOST + log(12), bounds=FileBounds(0, 50))

    assert lost(chain) == [(4, 12), (8, 50)]
    assert chain.misfits == []


def test_offset_is_corrected_if_the_damaged_batch_behind_agrees() -> None:
    broken = harmed(batch(8, codec=Codec.GZIP, value=b"v" * 99), 70, 71)

    (_, mended, _) = chain_of(log(0, 36) + broken + log(12), bounds=FileBounds(0, 50)).batches

    assert (mended.offset, mended.trust) == (4, Trust.LED)
    assert mended.repairs == ("base offset (was 36)",)


def test_batch_behind_damage_gets_the_offset_before_the_next_one() -> None:
    zeroed = bytes(len(LOST)) + bytes(8) + batch(8, value=b"other")[8:]

    assert placed(log(0) + zeroed + log(12), FileBounds(0, 16)) == [
        (0, "LED"),
        (8, "MOVED"),
        (12, "CONFIRMED"),
    ]


def test_cleaner_explains_the_gap_before_a_batch_next_to_damage() -> None:
    data = log(0, 8) + LOST + log(20)

    assert placed(data, FileBounds(0, 50))[1] == (8, "UNJOINED")
    assert placed(data, FileBounds(0, 50, cleaned_to=50))[1] == (8, "LED")


def test_batch_with_a_wrong_offset_hides_none_from_a_search() -> None:
    found = placed(log(0, 1 << 20, 8) + LOST + log(20, 24), FileBounds(0, 50))

    assert found[-2:] == [(20, "FOUND"), (24, "FOUND")]


def test_second_copy_of_a_batch_is_not_moved() -> None:
    chain = chain_of(log(0, 4) + log(0) + LOST, bounds=FileBounds(0, 50))

    assert [each.offset for each in chain.batches] == [0, 4]


def test_batches_that_join_each_other_are_not_moved() -> None:
    chain = chain_of(log(100, 104, 108) + log(40, 44) + LOST, bounds=FileBounds(100, 900))

    assert [each.offset for each in chain.batches] == [100, 104, 108]
    assert [each.offset for each in chain.misfits] == [40, 44]


def test_batch_before_a_moved_one_proves_nothing_by_its_offset() -> None:
    data = log(1000, 7)

    assert placed(data, FileBounds(528, None, frozenset({8}))) == [
        (1000, "UNJOINED"),
        (1004, "MOVED"),
    ]


def test_end_of_the_log_that_is_not_known_contradicts_no_batch() -> None:
    assert placed(log(0, 8)) == [(0, "LED"), (8, "LED")]
    assert placed(log(0, 8), FileBounds(0, None, frozenset({90})))[1] == (8, "UNJOINED")


def test_rebuilt_batch_with_a_wrong_offset_displaces_none_that_a_search_has_found() -> None:
    rebuilt = harmed(batch(1 << 30), 61, 62)

    found = placed(log(0) + LOST + rebuilt + log(12), FileBounds(0, None, frozenset({90})))

    assert found == [(0, "LED"), (12, "FOUND")]


def test_batch_that_overlaps_the_damaged_one_before_it_begins_at_its_end() -> None:
    broken = harmed(batch(4, codec=Codec.GZIP, value=b"v" * 99), 70, 71)
    marks = frozenset({12})

    ended = chain_of(log(0) + broken + log(6), bounds=FileBounds(0, None, marks)).batches[1]

    assert (ended.offset, ended.repairs) == (8, ("base offset (was 6)",))
    assert placed(log(0) + broken + log(6), FileBounds(0, 50))[1] == (8, "MOVED")


def test_header_with_a_wrong_number_of_records_displaces_no_batch() -> None:
    broken = bytearray(batch(4))
    broken[23:] = b"\7" * 34 + b"\xff" * (len(broken) - 57)

    assert placed(log(0) + bytes(broken) + log(8), FileBounds(0, 12))[-1] == (8, "LED")
    assert placed(log(0) + bytes(broken) + log(8), FileBounds(0, 90))[-1] == (8, "UNJOINED")


@pytest.mark.parametrize(("base", "widths"), ((8, (4, 4)), (8, (4,))))
def test_first_offset_that_is_little_below_the_file_s_base_is_corrected(
    base: int, widths: tuple[int, ...]
) -> None:
    end = base + sum(widths)
    data = batch(base - 1) + b"".join(batch(base + 4) for _ in widths[1:])

    chain = chain_of(data, bounds=FileBounds(base, end))

    assert [each.offset for each in chain.batches] == list(range(base, end, 4))
    assert chain.batches[0].repairs == ("base offset (was 7)",)


def test_batch_that_leaves_no_room_for_the_next_one_is_moved_instead() -> None:
    data = batch(0) + batch(17, 1) + batch(10, 8) + batch(20)

    found = placed(data, FileBounds(0, 24, cleaned_to=24))

    assert found == [(0, "LED"), (4, "MOVED"), (10, "LED"), (20, "LED")]


def test_batch_across_the_base_offset_of_its_file_is_put_there() -> None:
    """A cleaner has left gaps, so it does not fill the file."""
    chain = chain_of(batch(6), bounds=FileBounds(8, 20, cleaned_to=20))

    assert [(each.offset, each.trust) for each in chain.batches] == [(8, Trust.MOVED)]
    assert [each[:2] for each in chain.damages] == [(8, 20)]


def test_batch_across_the_base_offset_of_its_file_is_right_if_it_joins_the_next_one() -> None:
    chain = chain_of(batch(6) + batch(10), bounds=FileBounds(8, 20, cleaned_to=20))

    assert [(each.offset, each.trust) for each in chain.batches] == [
        (6, Trust.LED),
        (10, Trust.LED),
    ]


@pytest.mark.parametrize(("epoch", "right"), ((1, [8, 20]), (0, [2, 20])))
def test_epoch_decides_between_two_batches_without_joints(epoch: int, right: list[int]) -> None:
    """Epoch 1 begins at offset 15, so its batch does not displace the old message before it."""
    builder = LegacyBuilder(1, base_offset=8)
    builder.append(b"key", b"value", timestamp=5)
    data = bytes(builder.build()) + batch(2, epoch=epoch) + batch(20, epoch=1)
    epochs = (EpochEntry(LeaderEpoch(1), Offset(15)),)
    witnesses = OffsetWitnesses(epochs=epochs, has_first_epoch=True)

    chain = chain_of(data, bounds=FileBounds(0, 40, cleaned_to=40, witnesses=witnesses))

    assert [each.offset for each in chain.batches if not each.is_doubtful] == right


def test_old_message_across_the_base_offset_of_its_file_is_left_out() -> None:
    builder = LegacyBuilder(1, base_offset=6, codec=Codec.GZIP)
    for _ in range(4):
        builder.append(b"key", b"value", timestamp=5)

    chain = chain_of(bytes(builder.build()) + batch(12), bounds=FileBounds(8, 16))

    assert [each.offset for each in chain.batches] == [12]
    assert [each[:2] for each in chain.damages] == [(8, 12)]
