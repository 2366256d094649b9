"""A batch whose offsets fill a hole exactly gets its place in the file back."""

from cordwood.workbench.salvage.file_bounds import FileBounds
from tests.unit.workbench.salvage_samples import batch, chain_of


def log(*bases: int) -> bytes:
    return b"".join(batch(base) for base in bases)


def offsets(data: bytes, bounds: FileBounds) -> list[int]:
    return [each.offset for each in chain_of(data, bounds=bounds).batches]


def test_exchanged_batches_are_both_kept() -> None:
    chain = chain_of(log(0, 8, 4, 12), bounds=FileBounds(0, 16))

    assert [each.offset for each in chain.batches] == [0, 4, 8, 12]
    assert sorted(each.repairs for each in chain.batches) == [(), (), (), ("place in the file",)]
    assert not any(each.is_doubtful for each in chain.batches)


def test_first_and_last_batch_are_exchanged() -> None:
    assert offsets(log(8, 4, 0), FileBounds(0, 12)) == [0, 4, 8]


def test_batch_is_not_put_where_another_one_stands() -> None:
    """Both have wrong offsets."""
    chain = chain_of(log(8, 4, 1 << 50, 12), bounds=FileBounds(0, 16))

    assert [(each.offset, each.header.position) for each in chain.batches] == [
        (4 * at, at * len(batch())) for at in range(4)
    ]


def test_batch_that_fills_no_hole_is_not_put_there() -> None:
    assert offsets(log(0, 9, 4, 20), FileBounds(0, 24))[:2] == [0, 4]
    assert 9 not in offsets(log(0, 9, 4, 20), FileBounds(0, 24))


def test_batch_is_not_put_behind_a_damaged_range() -> None:
    data = log(0, 8) + b"\1" * 70 + log(4, 12, 16)

    assert offsets(data, FileBounds(0, 20)).count(8) <= 1
    assert not any(each.repairs for each in chain_of(data, bounds=FileBounds(0, 20)).batches)


def test_batch_with_room_where_it_stands_is_not_put_into_a_hole() -> None:
    """Its offsets may be the wrong ones: a cleaner has left a gap there."""
    cleaned = FileBounds(0, 24, cleaned_to=24)

    (first, *_) = chain_of(log(4, 8, 0, 20), bounds=cleaned).batches

    assert (first.offset, first.repairs) == (4, ())
    assert offsets(log(4, 8, 0, 12), cleaned) == [0, 4, 8, 12]
