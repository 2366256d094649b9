"""Findings are printed at the end, in Kafka's words and order."""

from cordwood.workbench.dump.mismatches import DumpFindings


def test_no_findings_are_no_lines() -> None:
    assert list(DumpFindings().lines()) == []
    assert not DumpFindings().is_wrong


def test_findings_have_kafkas_text() -> None:
    findings = DumpFindings()
    findings.add_mismatch("/i", indexed=1, found=2)
    findings.add_wrong_time("/t", indexed=3, found=4)
    findings.add_disorder("/t", indexed=5, previous=6)
    findings.add_missing("/t", indexed=7, found=-1)
    findings.add_gaps("/l", [(-1, 8)])

    assert "".join(findings.lines()) == (
        "Mismatches in :/i\n  Index offset: 1, log offset: 2\n"
        "Found timestamp mismatch in :/t\n  Index timestamp: 3, log timestamp: 4\n"
        "Found out of order timestamp in :/t\n"
        "  Index timestamp: 5, Previously indexed timestamp: 6\n"
        "The following indexed offsets are not found in :/t\n"
        "Indexed offset: 7, found log offset: -1\n"
        "Non-consecutive offsets in /l\n  -1 is followed by 8\n"
    )
    assert findings.is_wrong


def test_mismatches_are_in_reverse_order_and_the_latest_of_an_offset_replaces_others() -> None:
    findings = DumpFindings()
    for indexed, found in ((1, 2), (5, 6), (1, 3)):
        findings.add_mismatch("/i", indexed=indexed, found=found)

    assert list(findings.lines())[1:] == [
        "  Index offset: 5, log offset: 6\n",
        "  Index offset: 1, log offset: 3\n",
    ]


def test_gaps_are_ordered_by_offset_and_are_not_wrong() -> None:
    findings = DumpFindings()
    findings.add_gaps("/l", [(9, 20), (3, 5)])
    findings.add_gaps("/l", ())

    assert list(findings.lines())[1:] == ["  3 is followed by 5\n", "  9 is followed by 20\n"]
    assert not findings.is_wrong


def test_damage_is_wrong() -> None:
    assert DumpFindings(is_damaged=True).is_wrong
