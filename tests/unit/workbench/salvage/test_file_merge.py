"""Files with overlapping offsets are merged into one log."""

from cordwood.workbench.salvage.batch_chain import BatchChain, FileBounds, build_chain
from cordwood.workbench.salvage.file_merge import damaged_offsets, merge_chains
from tests.unit.workbench.salvage_samples import batch, found_in, harmed


def chain(data: bytes, file: str = "file") -> BatchChain:
    return build_chain(file, found_in(data), bounds=FileBounds(), epoch_for=lambda _: None)


def test_files_are_merged_in_the_order_of_offsets() -> None:
    merged = merge_chains([chain(batch(8), "b"), chain(batch(0) + batch(4), "a")])

    assert [(each.file, each.offset) for each in merged.batches] == [("a", 0), ("a", 4), ("b", 8)]


def test_duplicate_batch_is_merged_once() -> None:
    merged = merge_chains([chain(batch(0) + batch(4)), chain(batch(4) + batch(8))])

    assert [each.offset for each in merged.batches] == [0, 4, 8]
    assert (merged.duplicates, merged.contradicting) == (1, [])


def test_first_of_two_contradicting_batches_is_retained() -> None:
    merged = merge_chains([chain(batch(0) + batch(4), "a"), chain(batch(2), "b")])

    assert [each.file for each in merged.batches] == ["a", "a"]
    assert [each.file for each in merged.contradicting] == ["b"]


def test_whole_batch_is_preferred_to_a_rebuilt_one() -> None:
    merged = merge_chains([chain(harmed(batch(0), 61, 62), "a"), chain(batch(0), "b")])

    assert [each.file for each in merged.batches] == ["b"]
    assert merged.contradicting == []


def test_damage_is_listed_by_offsets() -> None:
    chains = [chain(batch(8) + b"\1" * 70), chain(batch(0) + b"\1" * 70)]

    found = damaged_offsets(["b", "a"], chains)

    assert [(each.file, each.first) for each in found] == [("a", 4), ("b", 12)]
