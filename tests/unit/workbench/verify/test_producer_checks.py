"""Producer snapshots and transaction indexes are compared with the log."""

from typing import ClassVar

import pytest

from cordwood.records.batch_builder import BatchFields, empty_batch
from cordwood.records.batch_checks import CheckedBatch, PlainBatchChecker
from cordwood.storage.log_config import LogConfig
from cordwood.storage.producers.producer_snapshot import decode_snapshot, encode_snapshot
from cordwood.storage.producers.producer_state_entry import ProducerStateEntry
from cordwood.storage.segment.abstract_index import InMemoryEntries
from cordwood.storage.segment.transaction_index import AbortedTxn, TransactionIndex
from cordwood.testing.memory_files import MemoryFiles
from cordwood.workbench.verify.producer_checks import ProducerCheck
from tests.unit.storage.log_samples import LogHarness, batch, follow, interleaved, marker, produced
from tests.unit.storage.reader_samples import directory, got, harm, name, put, source
from tests.unit.workbench.verified import damages, healthy, notes, verified

LAST = "the last batch of producer {} differs from the log"
ABORTED = "an aborted transaction differs from the log"
OPEN = "the open transaction of producer {} differs from the log"


def changed(files: MemoryFiles, offset: int, producer_id: int, **fields: object) -> None:
    """Replace a snapshot by one with other fields of one producer."""
    states = decode_snapshot(got(files, name(offset, ".snapshot")), path="")
    put(
        files,
        name(offset, ".snapshot"),
        encode_snapshot(
            [
                each._replace(**fields) if each.producer_id == producer_id else each  # type: ignore[arg-type]  # any field
                for each in states
            ]
        ),
    )


def test_snapshot_with_a_wrong_checksum_is_damage() -> None:
    files = healthy()
    harm(files, name(36, ".snapshot"), 12)

    assert damages(files) == [("36.snapshot", "the checksum is wrong")]


def test_snapshot_of_an_older_batch_is_damage() -> None:
    files = healthy()
    (batch,) = next(
        each.batches
        for each in decode_snapshot(got(files, name(36, ".snapshot")), path="")
        if each.producer_id == 1
    )
    changed(files, 36, 1, batches=(batch._replace(last_sequence=99, last_offset=3),))

    assert damages(files) == [("36.snapshot", LAST.format(1))]


@pytest.mark.parametrize(
    "fields", ({"last_offset": 36}, {"offset_delta": 7}), ids=("at the snapshot", "offset delta")
)
def test_snapshot_of_another_last_batch_is_damage(fields: dict[str, int]) -> None:
    files = healthy()
    (batch,) = next(
        each.batches
        for each in decode_snapshot(got(files, name(36, ".snapshot")), path="")
        if each.producer_id == 1
    )
    changed(files, 36, 1, batches=(batch._replace(**fields),))

    assert damages(files) == [("36.snapshot", LAST.format(1))]


def test_snapshot_of_a_later_producer_epoch_is_damage() -> None:
    files = healthy()
    changed(files, 36, 1, producer_epoch=9)

    assert damages(files) == [("36.snapshot", LAST.format(1))]


def test_snapshot_with_another_transaction_is_damage() -> None:
    files = healthy()
    changed(files, 17, 1, transaction_first_offset=2)
    changed(files, 36, 1, transaction_first_offset=30)

    assert damages(files) == [("17.snapshot", OPEN.format(1)), ("36.snapshot", OPEN.format(1))]


def test_snapshot_without_a_producer_that_is_in_a_transaction_is_damage() -> None:
    files = healthy()
    put(files, name(17, ".snapshot"), encode_snapshot([ProducerStateEntry(77)]))

    found = verified(files).findings
    assert {each.cause for each in found} == {OPEN.format(each) for each in (1, 2, 3)}
    assert all("cordwood log salvage /d/t-0 --out NEWDIR" in each.remedy for each in found)


def test_snapshot_of_the_start_is_only_read() -> None:
    files = healthy()
    put(files, name(0, ".snapshot"), encode_snapshot([ProducerStateEntry(1)]))

    assert damages(files) == []


def test_entry_that_is_not_the_logs_is_damage() -> None:
    files = healthy()
    harm(files, name(17, ".txnindex"), 17)

    (found,) = verified(files).findings

    assert (found.cause, found.position) == (ABORTED, 0)
    assert "from 0 to 29" in str(found.expected)


def test_entry_without_a_marker_is_damage() -> None:
    files = healthy()
    entry = TransactionIndex(36, InMemoryEntries(b"", 34)).encode(AbortedTxn(1, 36, 40, 41))
    put(files, name(36, ".txnindex"), entry)

    (found,) = verified(files).findings

    assert (found.cause, found.expected) == (ABORTED, "none")


def test_lost_transaction_index_is_damage() -> None:
    files = healthy()
    files.remove(f"/d/t-0/{name(17, '.txnindex')}")

    (found,) = verified(files).findings

    assert (found.cause, found.found, found.position) == (ABORTED, "none", None)
    assert (found.first_offset, found.end_offset) == (0, 30)


def test_torn_transaction_index_is_damage_but_in_the_active_segment() -> None:
    log = bytes(produced(0, 2, is_transactional=True))
    assert damages(directory(log=log, txnindex=b"\0" * 5)) == []

    assert (
        damages(directory(log=log, txnindex=b"\0" * 5, log_3=b""))[0][1]
        == "a partial entry at the end"
    )


@pytest.mark.parametrize(
    ("recovery_point", "is_clean", "is_damage"),
    ((None, False, True), (3, True, True), (3, False, True), (2, True, True), (2, False, False)),
)
def test_active_segments_index_may_lag_behind_unsynced_data(
    recovery_point: int | None, *, is_clean: bool, is_damage: bool
) -> None:
    log = bytes(produced(0, 2, is_transactional=True)) + bytes(marker(at=2))
    files = directory(log=log)
    if recovery_point is not None:
        text = f"0\n1\nt 0 {recovery_point}\n"
        files.create("/d/recovery-point-offset-checkpoint").append(text.encode())
    if is_clean:
        files.create("/d/.kafka_cleanshutdown")

    assert damages(files) == ([(".txnindex", ABORTED)] if is_damage else [])
    assert len(notes(files)) == (not is_damage)


def test_lost_transaction_index_of_the_active_segment_is_damage_after_a_clean_stop() -> None:
    place = LogHarness()
    log = place.open(LogConfig())
    for each in interleaved():
        follow(log, each)
    log.close()
    assert damages(place.files) == []

    place.files.remove(f"/d/t-0/{name(0, '.txnindex')}")

    assert {each for _, each in damages(place.files)} == {ABORTED}


def test_unknown_version_of_an_entry_is_damage() -> None:
    log = bytes(produced(0, 2, is_transactional=True)) + bytes(marker(at=2))

    found = damages(directory(log=log, txnindex=b"\1" * 34))

    assert [path for path, _ in found] == [".txnindex"]


def test_snapshots_behind_damage_are_compared_from_there_on() -> None:
    files = healthy()
    harm(files, name(0), 70)
    assert [path for path, _ in damages(files)] == [".log"]

    changed(files, 36, 1, transaction_first_offset=30)

    assert [path for path, _ in damages(files)] == [".log", "36.snapshot"]


def test_open_transactions_are_read_from_the_snapshot_at_a_later_log_start() -> None:
    files = healthy()
    for each in files.list("/d/t-0"):
        if each.startswith("0" * 20) and not each.endswith("checkpoint"):
            files.remove(f"/d/t-0/{each}")
    assert verified(files).findings == ()

    files.remove(f"/d/t-0/{name(17, '.snapshot')}")

    assert (damages(files), notes(files)) == ([], [])


def test_snapshot_below_the_log_start_may_be_the_newest() -> None:
    files = healthy()
    for each in files.list("/d/t-0"):
        if each.endswith(".snapshot") and each > name(17, ".snapshot"):
            files.remove(f"/d/t-0/{each}")
    files.create("/d/log-start-offset-checkpoint").append(b"0\n1\nt 0 90\n")
    files.create("/d/.kafka_cleanshutdown")

    assert damages(files) == []


@pytest.mark.parametrize(
    ("log_start", "is_clean", "is_damage"),
    ((0, True, True), (2, True, True), (3, True, False), (0, False, False)),
)
def test_open_transaction_without_any_snapshot_is_damage_after_a_clean_stop(
    log_start: int, *, is_clean: bool, is_damage: bool
) -> None:
    files = directory(log=bytes(produced(0, 3, is_transactional=True)) + bytes(produced(3, 1)))
    files.create("/d/log-start-offset-checkpoint").append(b"0\n1\nt 0 %d\n" % log_start)
    if is_clean:
        files.create("/d/.kafka_cleanshutdown")

    found = [cause for _, cause in damages(files) if "snapshot" in cause]

    assert [cause.partition(" of ")[0] for cause in found] == [
        "no snapshot has the open transaction" for _ in range(is_damage)
    ]


def test_single_segment_is_verified_without_the_snapshots_of_others() -> None:
    files = directory(log=bytes(produced(0, 3, is_transactional=True)))
    files.create("/d/.kafka_cleanshutdown")

    assert [each for _, each in damages(files, f"/d/t-0/{name(0)}") if "snapshot" in each] == []


def test_idempotent_producers_are_held_against_snapshots() -> None:
    log = bytes(produced(0, 2)) + bytes(produced(2, 2, at=2, producer=(1, 0)))
    files = directory(log=log, log_4=bytes(produced(4, 1, at=4)))
    put(
        files, name(4, ".snapshot"), encode_snapshot([ProducerStateEntry(1), ProducerStateEntry(9)])
    )

    assert damages(files) == []


def test_marker_of_a_new_epoch_clears_the_last_batch() -> None:
    log = bytes(produced(0, 2, is_transactional=True)) + bytes(marker(producer=(1, 1), at=2))
    files = directory(log=log, log_3=b"")
    put(files, name(3, ".snapshot"), encode_snapshot([ProducerStateEntry(1, 1)]))

    assert [cause for _, cause in damages(files)] == [ABORTED]


def test_snapshot_deleted_during_verification_is_skipped() -> None:
    producers = ProducerCheck(source(directory()), [5])

    producers.check_snapshot(5)

    assert producers.findings == []


def test_control_batch_without_a_marker_ends_no_transaction() -> None:
    emptied = empty_batch(
        BatchFields(base_offset=2, producer_id=1, producer_epoch=0, is_control=True),
        last_offset=2,
        max_timestamp=1,
    )
    log = bytes(produced(0, 2, is_transactional=True) + emptied)
    files = directory(log=log, log_3=b"")
    put(files, name(3, ".snapshot"), encode_snapshot([ProducerStateEntry(1, 0)]))

    assert damages(files) == []


def test_batches_without_a_producer_are_skipped() -> None:
    log = bytes(batch() + produced(0, 1, at=1) + batch(at=2))
    transactional = bytes(batch(at=3) + produced(1, 1, at=4, is_transactional=True))

    assert damages(directory(log=log, log_3=transactional)) == []


class ComparedOffset(int):
    """An offset that counts the comparisons of offsets."""

    count: ClassVar[int] = 0

    def __lt__(self, other: object) -> bool:
        ComparedOffset.count += 1
        return int(self) < other  # type: ignore[operator]  # an offset

    def __gt__(self, other: object) -> bool:
        ComparedOffset.count += 1
        return int(self) > other  # type: ignore[operator]  # an offset


def count_comparisons(producers: int) -> int:
    """Return the comparisons of offsets for transactions that are open at once and abort."""
    begun = (
        produced(0, producer=(each, 0), at=each, is_transactional=True) for each in range(producers)
    )
    ended = (marker(producer=(each, 0), at=producers + each) for each in range(producers))
    data = b"".join((*begun, *ended))
    swept = PlainBatchChecker().check(data)
    names = CheckedBatch._fields
    for field in ("base_offset", "last_offset"):
        column = names.index(field)
        swept.columns[column] = list(map(ComparedOffset, swept.columns[column]))
    check = ProducerCheck(source(directory(log=data)), ())
    check.start(0)
    ComparedOffset.count = 0

    check.add(swept, memoryview(data))

    return ComparedOffset.count


def test_comparisons_of_open_transactions_are_linear() -> None:
    few, many = map(count_comparisons, (200, 800))

    assert few > 0
    assert many < 8 * few
