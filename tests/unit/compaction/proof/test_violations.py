"""Violations: their texts, and the number that is kept."""

from cordwood.compaction.proof.violations import KEPT, Violation, Violations


def test_violation_says_place_and_both_sides() -> None:
    violation = Violation("it is wrong", "a.log", 7, 61, "this", "that")

    assert str(violation) == "a.log: it is wrong (offset 7, position 61, expected this, found that)"


def test_violation_says_no_more_than_is_known() -> None:
    assert str(Violation("it is wrong", "a.log")) == "a.log: it is wrong"


def test_violations_count_on_when_no_more_are_kept() -> None:
    violations = Violations()

    for offset in range(KEPT + 5):
        violations.add(Violation("it is wrong", "a.log", offset))

    assert violations.count == KEPT + 5
    assert [each.offset for each in violations.kept] == list(range(KEPT))
