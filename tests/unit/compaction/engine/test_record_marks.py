"""The two mark bits of each record."""

from cordwood.compaction.engine.record_marks import Marks, max_records, set_bit


def test_marks_have_two_bits_per_record() -> None:
    assert (Marks(17).count, Marks(17).size) == (17, 6)


def test_marks_are_clear_to_begin_with() -> None:
    marks = Marks(9)

    assert not any(marks.is_latest(number) or marks.is_tombstone(number) for number in range(9))


def test_mark_of_one_record_changes_no_other() -> None:
    marks = Marks(20)

    for number in range(20):
        set_bit(marks.latest, number)
    set_bit(marks.latest, 11, value=False)

    assert [number for number in range(20) if not marks.is_latest(number)] == [11]


def test_max_records_is_the_largest_count_whose_marks_fit() -> None:
    for memory in range(1, 40):
        most = max_records(memory)

        assert Marks(most).size <= memory < Marks(most + 9).size + 2
