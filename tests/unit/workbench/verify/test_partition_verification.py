"""Verification of a whole partition, also while it changes."""

from collections.abc import Callable

from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.records.batch_checks import CheckedBatches, PlainBatchChecker
from cordwood.testing.memory_files import MemoryFiles
from cordwood.workbench.verify.findings import VerifiedPartition
from cordwood.workbench.verify.partition_verification import MAX_ATTEMPTS, verify_partition
from cordwood.workbench.verify.segment_verification import VerifyOptions
from tests.unit.storage.reader_samples import directory, harm, name, put, reader
from tests.unit.storage.segment_samples import v2
from tests.unit.workbench.verified import damages, healthy, verified


class ChangingChecker(PlainBatchChecker):
    """A checker that changes the files after each range."""

    def __init__(self, meddle: Callable[[int], object]) -> None:
        self.passes = 0
        self._meddle = meddle

    def check(self, data: object) -> CheckedBatches:
        self.passes += 1
        swept = super().check(bytes(data))  # type: ignore[call-overload]  # a buffer it is
        self._meddle(self.passes)
        return swept


def verify(files: MemoryFiles, checker: PlainBatchChecker) -> VerifiedPartition:
    options = VerifyOptions(checker=checker, on_bytes=lambda _size: None)
    return verify_partition(
        reader(files), TopicPartition(TopicName("t"), PartitionId(0)), options=options
    )


def test_partition_has_its_name() -> None:
    assert verify(healthy(), PlainBatchChecker()).partition == "t-0"


def test_empty_partition_has_no_findings() -> None:
    assert (verified(directory(log=b"")).findings, verified(directory(log_5=b"")).log_end) == (
        (),
        5,
    )


def test_pending_segment_that_cannot_be_read_is_damage() -> None:
    files = directory(log=v2(0, 3))
    put(files, name(0, ".log.swap"), b"\xee" * 100)

    ((path, cause),) = damages(files)

    assert path == ".log.swap"
    assert cause.startswith("a segment that is about to replace others cannot be read")


def test_pending_segment_of_an_undone_swap_is_not_verified() -> None:
    files = directory(log=v2(0, 3))
    put(files, name(0, ".log.swap"), b"\xee" * 100)
    put(files, name(0, ".index.cleaned"), b"")

    assert damages(files) == []


def test_side_files_are_verified() -> None:
    files = healthy()
    put(files, "leader-epoch-checkpoint", b"0\n5\n")
    put(files, "partition.metadata", b"version: x")

    assert [path for path, _ in damages(files)] == ["leader-epoch-checkpoint", "partition.metadata"]


def test_damage_that_disappears_during_verification_is_not_reported() -> None:
    files = directory(log=v2(0, 3) + v2(4))
    harm(files, name(0), 70)

    def mend(passes: int) -> None:
        if passes == 1:
            put(files, name(0), v2(0, 3) + v2(4) + v2(5))

    assert verify(files, ChangingChecker(mend)).findings == ()


def test_damage_of_a_changing_log_is_reported_after_some_attempts() -> None:
    files = directory(log=v2(0, 3) + v2(4))
    harm(files, name(0), 70)

    def grow(passes: int) -> None:
        put(files, f"{passes}.tmp", b"")

    checker = ChangingChecker(grow)

    assert verify(files, checker).is_damaged
    assert checker.passes == 2 * MAX_ATTEMPTS


def test_log_truncated_during_verification_is_verified_again() -> None:
    files = directory(log=v2(0, 3) + v2(4), log_5=v2(5))

    def cut(passes: int) -> None:
        if passes == 1:
            put(files, name(5), b"")

    assert verify(files, ChangingChecker(cut)).log_end == 5
