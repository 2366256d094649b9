"""Numbers with their nouns."""

from cordwood.spark.runtime.counted_nouns import counted


def test_noun_is_in_the_plural_unless_there_is_one() -> None:
    assert [counted(each, "file") for each in (0, 1, 2_000)] == ["0 files", "1 file", "2,000 files"]
