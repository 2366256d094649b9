"""Lost, doubtful and repaired offsets."""

import json

from cordwood.records.compression import Codec
from cordwood.workbench.salvage.batch_run import runs_of
from cordwood.workbench.salvage.file_bounds import FileBounds
from cordwood.workbench.salvage.salvage_report import (
    MISSING,
    DamagedOffsets,
    ReportedOffsets,
    SalvageReport,
    doubtful_offsets,
    find_losses,
    find_mended,
    merge_gaps,
)
from cordwood.workbench.salvage.transaction_ends import DoubtfulRecords
from tests.unit.workbench.salvage_samples import batch, chain_of, cleaned_batch, harmed


def lost(data: bytes, *, start: int = 0, known_end: int = 0) -> list[tuple[int, int | None, str]]:
    """Return the lost ranges of a file, with the first words of the reason."""
    chain = chain_of(data, bounds=FileBounds(0))
    damages = [DamagedOffsets(first, end, each, "file") for first, end, each in chain.damages]
    runs = list(runs_of(chain.batches))
    found = find_losses(runs, damages, start=start, known_end=known_end)
    return [(each.first, each.last, " ".join(each.why.split()[:2])) for each in found]


def test_complete_log_has_no_losses() -> None:
    assert lost(batch(0) + batch(4), known_end=8) == []


def test_damaged_offset_delta_does_not_make_a_report_long() -> None:
    huge = harmed(batch(4), 23, 62, mask=0x40)

    assert lost(batch(0) + huge) == [(8, 4 + 0x40000003, "unreadable records")]


def test_offsets_without_a_file_are_missing() -> None:
    assert lost(batch(2) + batch(8), start=1, known_end=14) == [
        (1, 1, "in no"),
        (6, 7, "in no"),
        (12, 13, "in no"),
    ]


def test_offsets_between_which_damage_is_are_lost_by_it() -> None:
    data = batch(0) + b"\1" * 70 + batch(9) + b"\1" * 70 + batch(14)

    assert lost(data) == [(4, 8, "a truncated"), (13, 13, "a truncated")]


def test_damage_behind_the_end_in_the_header_of_another_one_may_hide_more() -> None:
    """No batch is left between both, so one range has them."""
    unreadable = harmed(batch(4, codec=Codec.GZIP), 70, 80)

    assert lost(batch(0) + unreadable) == [(4, 7, "the checksum")]
    assert lost(batch(0) + unreadable + b"\7" * 70) == [
        (4, 7, "the checksum"),
        (8, None, "the checksum"),
    ]


def test_records_that_do_not_read_are_lost() -> None:
    data = batch(0) + harmed(batch(4), 61, 62) + batch(8)

    assert lost(data) == [(4, 4, "unreadable records")]


def test_torn_end_is_lost_up_to_the_end_in_its_header() -> None:
    assert lost(batch(0) + batch(4)[:62]) == [(4, 7, "a truncated")]


def test_loss_at_an_unknown_end_is_open() -> None:
    assert lost(batch(0) + batch(4)[:30]) == [(4, None, "a truncated")]
    assert lost(batch(0) + batch(7)[:62]) == [(4, None, "a truncated")]


def test_zeros_at_the_end_are_not_a_loss() -> None:
    assert lost(batch(0) + bytes(900)) == []


def test_doubtful_and_repaired_offsets_are_reported() -> None:
    data = harmed(batch(0), 61, 62) + harmed(batch(4), 80, mask=1)
    runs = list(runs_of(chain_of(data, bounds=FileBounds(0)).batches))

    assert [each[:2] for each in doubtful_offsets(runs, ())] == [(1, 3)]
    assert [each[:3] for each in find_mended(runs, ())] == [(4, 7, "repaired: one bit of byte 80")]


def test_records_without_a_known_end_are_doubtful() -> None:
    assert doubtful_offsets((), [DoubtfulRecords(4, 5, "why")]) == [ReportedOffsets(4, 5, "why")]


def test_gaps_without_a_loss_between_them_are_one_range() -> None:
    data = cleaned_batch(2) + cleaned_batch(9) + cleaned_batch(20)
    runs = list(runs_of(chain_of(data).batches, cleaned_to=24))
    gone = [ReportedOffsets(0, 1, MISSING), ReportedOffsets(30, 31, "damage")]

    (gaps,) = merge_gaps(gone, runs, cleaned_to=24)

    assert gaps == ReportedOffsets(0, 19, "12 of them are in no file, in 3 gaps")


def test_report_without_losses_is_whole_and_is_json() -> None:
    report = SalvageReport(
        source="/a/t-0",
        path="/b/t-0",
        partition="t-0",
        log_start=0,
        log_end=9,
        batches=2,
        size=100,
        lost=(ReportedOffsets(4, None, MISSING),),
    )

    assert not report.is_whole
    assert json.loads(report.to_json())["lost"] == [
        {"first": 4, "last": None, "why": MISSING, "file": "", "position": None}
    ]
