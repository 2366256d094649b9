"""Paths verified: partitions, log directories and single segments."""

from cordwood.records.kernels.sweep import KernelSweeper
from cordwood.workbench.verify import verify
from tests.unit.storage.log_samples import DIRECTORY
from tests.unit.storage.reader_samples import harm, name
from tests.unit.workbench.verified import damages, healthy, verified


def test_log_directory_is_its_partitions_and_its_checkpoints() -> None:
    files = healthy()
    files.create("/d/recovery-point-offset-checkpoint").append(b"0\n1\n")
    files.create("/d/meta.properties").append(b"version=7\n")

    found = verify(files, ["/d"])

    assert [each.path for each in found.partitions] == [DIRECTORY]
    assert [each.path for each in found.findings] == [
        "/d/recovery-point-offset-checkpoint",
        "/d/meta.properties",
    ]


def test_segment_is_verified_alone() -> None:
    files = healthy()
    harm(files, name(0), 70)

    assert damages(files, f"{DIRECTORY}/{name(17)}") == []
    assert damages(files, f"{DIRECTORY}/{name(0, '.index')}") == [(".log", "the checksum is wrong")]
    assert verified(files, f"{DIRECTORY}/{name(17)}").segments == 1


def test_progress_is_all_bytes_of_logs() -> None:
    files = healthy()
    told: list[int] = []
    harm(files, name(0), 70)

    found = verify(files, [DIRECTORY], sweeper=KernelSweeper(), tell=told.append)

    assert sum(told) == found.partitions[0].size
    assert found.is_damaged
