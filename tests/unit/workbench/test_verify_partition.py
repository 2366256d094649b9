"""One partition as a whole: files beside the segments, and owners that go on writing."""

from collections.abc import Callable

from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.records.sweep import PlainSweeper, Swept
from cordwood.testing.files import MemoryFiles
from cordwood.workbench.findings import VerifiedPartition
from cordwood.workbench.verify_partition import MOST_LOOKS, verify_partition
from cordwood.workbench.verify_segment import VerifyTools
from tests.unit.storage.reader_samples import directory, harm, name, put, reader
from tests.unit.storage.segment_samples import v2
from tests.unit.workbench.verified import damages, healthy, verified


class Meddling(PlainSweeper):
    """Does something to the files after each pass."""

    def __init__(self, meddle: Callable[[int], object]) -> None:
        self.passes = 0
        self._meddle = meddle

    def check(self, data: object) -> Swept:
        self.passes += 1
        swept = super().check(bytes(data))  # type: ignore[call-overload]  # a buffer it is
        self._meddle(self.passes)
        return swept


def looked_at(files: MemoryFiles, sweeper: PlainSweeper) -> VerifiedPartition:
    tools = VerifyTools(sweeper=sweeper, tell=lambda _size: None)
    return verify_partition(
        reader(files), TopicPartition(TopicName("t"), PartitionId(0)), tools=tools
    )


def test_partition_has_its_name() -> None:
    assert looked_at(healthy(), PlainSweeper()).partition == "t-0"


def test_empty_partition_is_good() -> None:
    assert (verified(directory(log=b"")).findings, verified(directory(log_5=b"")).log_end) == (
        (),
        5,
    )


def test_files_beside_segments_are_read() -> None:
    files = healthy()
    put(files, "leader-epoch-checkpoint", b"0\n5\n")
    put(files, "partition.metadata", b"version: x")

    assert [path for path, _ in damages(files)] == ["leader-epoch-checkpoint", "partition.metadata"]


def test_damage_that_is_mended_meanwhile_is_not_told() -> None:
    files = directory(log=v2(0, 3) + v2(4))
    harm(files, name(0), 70)

    def mend(passes: int) -> None:
        if passes == 1:
            put(files, name(0), v2(0, 3) + v2(4) + v2(5))

    assert looked_at(files, Meddling(mend)).findings == ()


def test_damage_of_a_log_that_goes_on_is_told_after_some_looks() -> None:
    files = directory(log=v2(0, 3) + v2(4))
    harm(files, name(0), 70)

    def grow(passes: int) -> None:
        put(files, f"{passes}.tmp", b"")

    sweeper = Meddling(grow)

    assert looked_at(files, sweeper).is_damaged
    assert sweeper.passes == 2 * MOST_LOOKS


def test_log_that_is_cut_meanwhile_is_looked_at_again() -> None:
    files = directory(log=v2(0, 3) + v2(4), log_5=v2(5))

    def cut(passes: int) -> None:
        if passes == 1:
            put(files, name(5), b"")

    assert looked_at(files, Meddling(cut)).log_end == 5
