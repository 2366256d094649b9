"""Transaction indexes of logs that were cleaned, damaged, or lost their tail."""

import pytest

from cordwood.storage.segment.abstract_index import InMemoryEntries
from cordwood.storage.segment.transaction_index import AbortedTxn, TransactionIndex
from cordwood.testing.memory_files import MemoryFiles
from cordwood.workbench.verify.transaction_index_checks import AbortMarker
from tests.unit.storage.log_samples import batch, marker, produced
from tests.unit.storage.reader_samples import directory, harm, name, put
from tests.unit.workbench.verified import damages, notes

ABORTED = ("0.txnindex", "an aborted transaction differs from the log")


def entries(*found: tuple[int, int, int, int]) -> bytes:
    return b"".join(
        TransactionIndex(0, InMemoryEntries(b"", 34)).encode(AbortedTxn(*each)) for each in found
    )


def cleaned(txnindex: bytes, *, cleaned_to: int = 4) -> MemoryFiles:
    """Return a log that was cleaned below 4: producer 7 aborts at 6, 8 commits at 9."""
    log = (
        batch(1),
        batch(1, at=3),
        produced(0, 2, producer=(7, 0), at=4, is_transactional=True),
        marker(producer=(7, 0), at=6),
        produced(0, 2, producer=(8, 0), at=7, is_transactional=True),
        marker(producer=(8, 0), at=9, is_commit=True),
    )
    files = directory(log=b"".join(map(bytes, log)))
    files.create("/d/cleaner-offset-checkpoint").append(f"0\n1\nt 0 {cleaned_to}\n".encode())
    put(files, name(0, ".txnindex"), txnindex)
    return files


def found(files: MemoryFiles) -> list[tuple[str, str]]:
    return [(f"0{path}", cause) for path, cause in damages(files)]


def test_right_entry_of_a_cleaned_log_has_no_finding() -> None:
    assert found(cleaned(entries((7, 4, 6, 7)))) == []


@pytest.mark.parametrize(
    "txnindex",
    (
        b"",
        entries((7, 4, 6, 7), (8, 7, 9, 10)),
        entries((8, 4, 6, 7)),
        entries((7, 5, 6, 7)),
        entries((7, 4, 6, 9)),
    ),
    ids=("missing", "of a committed one", "producer", "first offset", "stable offset"),
)
@pytest.mark.parametrize("cleaned_to", (4, 10))
def test_wrong_index_is_damage_in_a_cleaned_log_too(txnindex: bytes, cleaned_to: int) -> None:
    assert ABORTED in found(cleaned(txnindex, cleaned_to=cleaned_to))


def test_entries_in_another_order_are_damage() -> None:
    log = (
        produced(0, 2, producer=(7, 0), is_transactional=True),
        marker(producer=(7, 0), at=2),
        produced(0, 2, producer=(8, 0), at=3, is_transactional=True),
        marker(producer=(8, 0), at=5),
    )
    files = directory(log=b"".join(map(bytes, log)))
    put(files, name(0, ".txnindex"), entries((8, 3, 5, 6), (7, 0, 2, 3)))

    assert found(files) == [
        ("0.txnindex", "the entries are not in the order of their last offsets")
    ]


def test_entry_may_begin_at_data_that_a_cleaner_has_removed() -> None:
    assert found(cleaned(entries((7, 1, 6, 1)))) == []
    assert found(cleaned(entries((7, 1, 6, 1)), cleaned_to=1)) == []


def test_marker_whose_data_are_gone_needs_no_entry() -> None:
    log = bytes(batch(1) + batch(1, at=3) + marker(producer=(7, 0), at=4) + batch(1, at=5))
    files = directory(log=log)
    files.create("/d/cleaner-offset-checkpoint").append(b"0\n1\nt 0 5\n")
    assert damages(files) == []

    put(files, name(0, ".txnindex"), entries((7, 1, 4, 5)))

    assert damages(files) == []


def test_entry_of_a_damaged_range_is_not_compared() -> None:
    files = cleaned(entries((7, 4, 6, 7)))
    position = len(batch(1)) * 2 + len(produced(0, 2))
    harm(files, name(0), position + 70)

    assert [cause for _, cause in found(files)] == ["the checksum is wrong"]


def test_second_byte_of_a_version_is_compared() -> None:
    files = cleaned(entries((7, 4, 6, 7)))
    harm(files, name(0, ".txnindex"), 1, b"\1")

    assert found(files) == [("0.txnindex", "an entry has an unknown version")]


@pytest.mark.parametrize(("recovery_point", "is_damage"), ((10, False), (None, True)))
def test_entry_behind_the_end_is_a_note_after_a_crash(
    recovery_point: int | None, *, is_damage: bool
) -> None:
    files = cleaned(entries((7, 4, 6, 7), (7, 11, 12, 13)))
    if recovery_point is not None:
        text = f"0\n1\nt 0 {recovery_point}\n"
        files.create("/d/recovery-point-offset-checkpoint").append(text.encode())

    assert found(files) == ([ABORTED] if is_damage else [])
    assert len(notes(files)) == 1 + (not is_damage)


@pytest.mark.parametrize(("first", "is_damage"), ((4, True), (-5, True), (5, False)))
def test_entry_begins_behind_the_marker_before_it(first: int, *, is_damage: bool) -> None:
    marker_of = AbortMarker(7, 9, None, 10, complete_from=8, ended_at=4)

    assert marker_of.is_borne_out(AbortedTxn(7, first, 9, 10)) is not is_damage
