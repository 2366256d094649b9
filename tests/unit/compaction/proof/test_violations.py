"""Violations: their texts, and the limit of the list."""

from cordwood.compaction.proof.violations import KEPT, Violation, Violations


def test_violation_text_has_place_and_both_values() -> None:
    violation = Violation("it is wrong", "a.log", 7, 61, "this", "that")

    assert str(violation) == "a.log: it is wrong (offset 7, position 61, expected this, found that)"


def test_violation_text_leaves_out_unknown_facts() -> None:
    assert str(Violation("it is wrong", "a.log")) == "a.log: it is wrong"


def test_violations_are_counted_beyond_the_limit_of_the_list() -> None:
    violations = Violations()

    for offset in range(KEPT + 5):
        violations.add(Violation("it is wrong", "a.log", offset))

    assert violations.count == KEPT + 5
    assert [each.offset for each in violations.kept] == list(range(KEPT))
