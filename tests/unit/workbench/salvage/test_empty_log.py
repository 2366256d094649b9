"""A partition without records is salvaged as an empty one."""

from cordwood.storage.files.atomic_write import read_whole
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.virtual_clock import VirtualClock
from cordwood.workbench.partition_view import open_partition
from cordwood.workbench.salvage.empty_log import has_no_bytes, salvage_empty
from tests.unit.workbench.salvage_samples import SOURCE, batch, directory, ports

ZERO = "00000000000000000000.log"
METADATA = b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAFw"


def bounds(files: MemoryFiles) -> tuple[int, int]:
    found = open_partition(files, "/out/t-0", clock=VirtualClock()).offsets()
    return found.log_start, found.log_end


def test_new_partition_is_empty_and_keeps_the_topic_id() -> None:
    files = directory({ZERO: b"", "partition.metadata": METADATA})

    report = salvage_empty(ports(files), SOURCE, out="/out")

    assert (report.log_start, report.log_end, report.is_whole) == (0, 0, True)
    assert bounds(files) == (0, 0)
    assert read_whole(files, "/out/t-0/partition.metadata") == METADATA


def test_new_partition_begins_where_the_deleted_records_ended() -> None:
    beside = {
        "log-start-offset-checkpoint": b"0\n1\nt 0 500\n",
        "recovery-point-offset-checkpoint": b"0\n1\nt 0 500\n",
    }
    files = directory({"00000000000000000500.log": b""}, beside=beside)

    report = salvage_empty(ports(files), SOURCE, out="/out")

    assert (report.log_start, report.log_end, report.is_whole) == (500, 500, True)
    assert bounds(files) == (500, 500)
    assert read_whole(files, "/out/recovery-point-offset-checkpoint") == b"0\n1\nt 0 500\n"


def test_offsets_that_a_checkpoint_shows_are_lost() -> None:
    beside = {"recovery-point-offset-checkpoint": b"0\n1\nt 0 40\n"}
    files = directory({ZERO: b""}, beside=beside)

    report = salvage_empty(ports(files), SOURCE, out="/out")

    assert [each[:2] for each in report.lost] == [(0, 39)]


def test_offsets_that_an_index_shows_are_lost() -> None:
    entry = (9).to_bytes(4, "big") + (700).to_bytes(4, "big")
    files = directory({ZERO: b"", "00000000000000000000.index": entry})

    report = salvage_empty(ports(files), SOURCE, out="/out")

    assert [each[:2] for each in report.lost] == [(0, 9)]


def test_partition_with_a_batch_is_not_empty() -> None:
    assert has_no_bytes(directory({ZERO: b""}), SOURCE)
    assert not has_no_bytes(directory({ZERO: batch(0)}), SOURCE)
