"""The result of a pass."""

from cordwood.compaction.cleaning_job import CleanedGroup, CleanedSegment


def test_group_has_its_replaced_and_cleaned_segments() -> None:
    group = CleanedGroup((0, 10), (CleanedSegment(0, 500),))

    assert group.replaced == (0, 10)
    assert [each.base_offset for each in group.cleaned] == [0]
