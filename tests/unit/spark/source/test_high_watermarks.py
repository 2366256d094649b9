"""High watermarks of partition directories."""

import pytest

from cordwood.core.errors import DamagedFileError
from cordwood.spark.source.high_watermarks import HighWatermarks
from cordwood.testing.memory_files import MemoryFiles
from tests.unit.workbench.metadata_samples import metadata_batch, partition, topic

PATH = "/logs/t-0"
METADATA_LOG = "/logs/__cluster_metadata-0"


def _files(checkpoint: bytes | None = b"0\n1\nt 0 5\n") -> MemoryFiles:
    files = MemoryFiles()
    for folder in ("/logs", PATH):
        files.make_directory(folder)
    if checkpoint is not None:
        files.create("/logs/replication-offset-checkpoint").append(checkpoint)
    return files


def _with_replicas(files: MemoryFiles, *replicas: int) -> MemoryFiles:
    files.make_directory(METADATA_LOG)
    records = metadata_batch(topic("t"), partition(0, *replicas))
    files.create(f"{METADATA_LOG}/{0:020}.log").append(records)
    return files


def test_checkpoint_of_the_log_directory_has_the_high_watermark() -> None:
    assert HighWatermarks(_files()).limit_of(PATH) == 5


def test_partition_without_an_entry_has_the_high_watermark_zero() -> None:
    assert HighWatermarks(_files(b"0\n0\n")).limit_of(PATH) == 0


def test_log_directory_without_a_checkpoint_has_no_limit() -> None:
    assert HighWatermarks(_files(None)).limit_of(PATH) is None


def test_partition_with_one_replica_has_no_limit() -> None:
    assert HighWatermarks(_with_replicas(_files(), 1)).limit_of(PATH) is None
    assert HighWatermarks(_with_replicas(_files(), 1, 2)).limit_of(PATH) == 5


def test_log_of_kafkas_metadata_has_no_limit() -> None:
    assert HighWatermarks(_files()).limit_of(METADATA_LOG) is None


def test_damaged_checkpoint_is_an_error() -> None:
    with pytest.raises(DamagedFileError, match="replication-offset-checkpoint"):
        HighWatermarks(_files(b"1\n")).limit_of(PATH)
