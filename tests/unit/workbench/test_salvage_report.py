"""What is lost, and why."""

import json

from cordwood.workbench.salvage_chain import Bounds, chain_of
from cordwood.workbench.salvage_merge import merge, stretches
from cordwood.workbench.salvage_report import (
    MISSING,
    Offsets,
    SalvageReport,
    doubtful,
    losses,
    mended,
)
from tests.unit.workbench.salvage_samples import batch, found_in, harmed


def told(data: bytes, *, start: int = 0, known_end: int = 0) -> list[tuple[int, int | None, str]]:
    """Return what is lost of a file; of the reason the first words."""
    chain = chain_of("file", found_in(data), bounds=Bounds(0), epoch_for=lambda _: None)
    found = losses(
        merge([chain]).batches, stretches(["file"], [chain]), start=start, known_end=known_end
    )
    return [(each.first, each.last, " ".join(each.why.split()[:2])) for each in found]


def test_log_of_which_nothing_is_missing_has_lost_nothing() -> None:
    assert told(batch(0) + batch(4), known_end=8) == []


def test_offsets_without_a_file_are_missing() -> None:
    assert told(batch(2) + batch(8), start=1, known_end=14) == [
        (1, 1, "no file"),
        (6, 7, "no file"),
        (12, 13, "no file"),
    ]


def test_offsets_between_which_damage_is_are_lost_by_it() -> None:
    data = batch(0) + b"\1" * 70 + batch(9) + b"\1" * 70 + batch(14)

    assert told(data) == [(4, 8, "a batch"), (13, 13, "a batch")]


def test_records_that_do_not_read_are_lost() -> None:
    data = batch(0) + harmed(batch(4), 61, 62) + batch(8)

    assert told(data) == [(4, 4, "records that")]


def test_end_that_is_torn_is_lost_as_far_as_its_header_says() -> None:
    assert told(batch(0) + batch(4)[:62]) == [(4, 7, "a batch")]


def test_end_of_which_nothing_is_known_is_lost_without_an_end() -> None:
    assert told(batch(0) + batch(4)[:30]) == [(4, None, "a batch")]
    assert told(batch(0) + batch(7)[:62]) == [(4, None, "a batch")]


def test_zeros_at_the_end_have_lost_nothing() -> None:
    assert told(batch(0) + bytes(900)) == []


def test_what_is_doubtful_and_what_was_mended_is_told() -> None:
    data = harmed(batch(0), 61, 62) + harmed(batch(4), 80, mask=1)
    chain = chain_of("file", found_in(data), bounds=Bounds(0), epoch_for=lambda _: None)

    assert [each[:2] for each in doubtful(chain.batches)] == [(1, 3)]
    assert [each[:3] for each in mended(chain.batches)] == [(4, 7, "put right: a bit of byte 80")]


def test_report_is_whole_when_nothing_is_lost_and_reads_as_json() -> None:
    report = SalvageReport(
        source="/a/t-0",
        path="/b/t-0",
        partition="t-0",
        log_start=0,
        log_end=9,
        batches=2,
        size=100,
        lost=(Offsets(4, None, MISSING),),
    )

    assert not report.is_whole
    assert json.loads(report.to_json())["lost"] == [
        {"first": 4, "last": None, "why": MISSING, "file": "", "position": None}
    ]
