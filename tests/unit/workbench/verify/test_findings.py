"""Findings as lines and as JSON."""

import json

from cordwood.core.errors import CorruptMessageError, DamagedFileError
from cordwood.workbench.verify.findings import (
    Severity,
    Verification,
    VerifiedPartition,
    batch_finding,
    confirmed_findings,
    damage,
    file_finding,
    note,
)

LOST = damage("/l", "lost", first_offset=3, end_offset=4, remedy="look for it")


def partition(*findings: object) -> VerifiedPartition:
    return VerifiedPartition(
        path="/d/t-0",
        partition="t-0",
        log_start=0,
        log_end=5,
        segments=1,
        batches=2,
        records=1,
        size=1_000,
        findings=findings,  # type: ignore[arg-type]  # findings they are
    )


def test_finding_is_a_line() -> None:
    assert str(LOST) == "damage: /l: lost (offset 3); look for it"
    assert str(note("/l", "some cause")) == "note: /l: some cause; nothing to do"
    assert str(damage("/l", "x", position=7, first_offset=3, remedy="y")) == (
        "damage: /l: x (position 7, offsets from 3 on); y"
    )
    assert "offsets 3 to 8" in str(damage("/l", "x", first_offset=3, end_offset=9))


def test_finding_is_json() -> None:
    assert json.loads(LOST.to_json())["severity"] == "damage"


def test_partition_is_a_line() -> None:
    assert str(partition(LOST)) == (
        "DAMAGED: /d/t-0: offsets 0 to 4, 1 segment, 2 batches, 1 record, 1,000 bytes; 1 problem"
    )
    assert str(partition()).startswith("good: ")
    assert json.loads(partition(LOST).to_json())["findings"][0]["cause"] == "lost"


def test_verification_contains_all_findings() -> None:
    beside = note("/d", "beside")
    found = Verification(partitions=(partition(LOST),), findings=(beside,))

    assert (found.all_findings, found.damages) == ((LOST, beside), (LOST,))
    assert len(str(found).splitlines()) == 3
    assert json.loads(found.to_json())["is_damaged"] is True


def test_verification_without_partitions_is_one_line() -> None:
    assert str(Verification()) == "no partitions"


def test_errors_become_findings() -> None:
    file = DamagedFileError("torn", path="/f", position=3, remedy="remove it")
    batch = CorruptMessageError("bad", position=1, expected="x", found="y")

    assert file_finding(file) == damage("/f", "torn", position=3, remedy="remove it")
    found = batch_finding(batch, "/l", position=9, offsets=(1, None))
    assert (found.position, found.expected, found.severity) == (9, "x", Severity.DAMAGE)


def test_findings_of_both_checks_are_confirmed_with_the_notes_of_the_last() -> None:
    later = note("/l", "later")

    assert confirmed_findings([LOST], [LOST, later, damage("/m", "new")]) == (LOST, later)
