"""What compaction's kernels are made by, and how they are compiled."""

from cordwood.compaction import kernels


def test_parts_are_compiled_by_two_processes() -> None:
    own, others = kernels.PARTS

    assert not set(own) & set(others)
