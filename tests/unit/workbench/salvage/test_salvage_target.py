"""The partition and the directory of a salvage."""

import pytest

from cordwood.core.errors import LogDirectoryError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.workbench.salvage.salvage_target import named_partition, new_directory
from tests.unit.workbench.salvage_samples import SOURCE, directory

PARTITION = TopicPartition(TopicName("t"), PartitionId(0))


def test_directory_names_its_partition() -> None:
    assert named_partition("/logs/t-0") == PARTITION


@pytest.mark.parametrize("source", ("/logs/backup", "/logs/a b-0"))
def test_directory_with_another_name_needs_the_option(source: str) -> None:
    with pytest.raises(LogDirectoryError, match="--partition"):
        named_partition(source)


def test_new_directory_is_in_the_log_directory() -> None:
    found = new_directory(directory({}), SOURCE, out="/out", partition=PARTITION)

    assert found == "/out/t-0"


@pytest.mark.parametrize("out", (SOURCE.rpartition("/")[0], SOURCE))
def test_directory_that_exists_or_is_in_the_source_is_rejected(out: str) -> None:
    with pytest.raises(LogDirectoryError, match="already exists"):
        new_directory(directory({}), SOURCE, out=out, partition=PARTITION)
