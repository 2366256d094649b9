"""A partition's directory is salvaged into another log directory."""

import pytest

from cordwood.core.errors import LogDirectoryError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.storage.atomic import read_whole
from cordwood.storage.log_config import LogConfig
from cordwood.testing.clock import VirtualClock
from cordwood.testing.files import MemoryFiles
from cordwood.workbench.partition import open_partition
from cordwood.workbench.salvage import SalvageTools, salvage, sets, source_files
from cordwood.workbench.salvage_chain import Bounds, chain_of
from tests.unit.workbench.bad_disk import on_bad_disk
from tests.unit.workbench.dump_samples import FOLDER, files_of
from tests.unit.workbench.salvage_samples import (
    SOURCE,
    batch,
    directory,
    found_in,
    harmed,
    tools,
)

ZERO = "00000000000000000000.log"
EIGHT = "00000000000000000008.log"
METADATA = b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAFw"


def names(files: MemoryFiles, path: str = "/out/t-0") -> list[str]:
    return [name.lstrip("0") for name in files.list(path)]


def test_salvaged_log_has_everything_at_its_offsets() -> None:
    broken = harmed(batch(4), 61, 62)
    files = directory({ZERO: batch(0) + broken, EIGHT: batch(8), "partition.metadata": METADATA})

    report = salvage(tools(files), SOURCE, out="/out")

    assert [each[:2] for each in report.lost] == [(4, 4)]
    assert [each[:2] for each in report.doubtful] == [(5, 7)]
    assert (report.log_start, report.log_end, report.batches) == (0, 12, 3)
    assert open_partition(files, "/out/t-0", clock=VirtualClock()).offsets().log_end == 12
    assert {".log", ".index", ".timeindex", "12.snapshot".lstrip("0")} <= set(names(files))
    assert read_whole(files, "/out/t-0/partition.metadata") == METADATA


def test_checkpoints_beside_say_where_the_log_starts_and_ends() -> None:
    beside = {"log-start-offset-checkpoint": b"0\n1\nt 0 2\n"}
    files = directory({ZERO: batch(0) + batch(4)}, beside=beside)

    report = salvage(tools(files), SOURCE, out="/out")

    assert (report.log_start, report.is_whole) == (2, True)
    assert read_whole(files, "/out/log-start-offset-checkpoint") == b"0\n1\nt 0 2\n"
    assert read_whole(files, "/out/recovery-point-offset-checkpoint") == b"0\n1\nt 0 8\n"
    assert ".kafka_cleanshutdown" in files.list("/out")


def test_second_partition_may_come_into_the_same_log_directory() -> None:
    files = directory({ZERO: batch(0)})
    other = TopicPartition(TopicName("u"), PartitionId(1))

    salvage(tools(files), SOURCE, out="/out")
    salvage(tools(files), SOURCE, out="/out", partition=other)

    assert read_whole(files, "/out/replication-offset-checkpoint") == b"0\n2\nt 0 4\nu 1 4\n"


def test_gap_without_damage_is_no_loss() -> None:
    files = directory({ZERO: batch(0), EIGHT: batch(8)})

    report = salvage(tools(files), SOURCE, out="/out")

    assert report.is_whole
    assert [each[:2] for each in report.gaps] == [(4, 7)]


def test_offsets_that_a_checkpoint_knows_and_no_file_holds_are_lost() -> None:
    beside = {"replication-offset-checkpoint": b"0\n1\nt 0 9\n"}
    files = directory({ZERO: batch(0)}, beside=beside)

    report = salvage(tools(files), SOURCE, out="/out")

    assert [each[:2] for each in report.lost] == [(4, 8)]


def test_damaged_side_files_are_told() -> None:
    beside = {"replication-offset-checkpoint": b"x"}
    contents = {ZERO: batch(0), "leader-epoch-checkpoint": b"x", "partition.metadata": b"x"}
    files = directory(contents, beside=beside)

    report = salvage(tools(files), SOURCE, out="/out")

    assert len(report.notes) == 2
    assert "partition.metadata" not in names(files)


def test_files_under_other_names_are_read_too() -> None:
    contents = {ZERO: batch(0), "copy.log": batch(0) + batch(4), f"{EIGHT}.deleted": batch(8)}

    report = salvage(tools(directory(contents)), SOURCE, out="/out")

    assert report.log_end == 8
    assert report.notes == ("1 batches were there twice",)


def test_segment_that_was_about_to_take_the_place_of_others_does() -> None:
    swap = batch(0, 2) + batch(4)
    contents = {ZERO: batch(0), EIGHT: batch(8), f"{ZERO}.swap": swap}

    report = salvage(tools(directory(contents)), SOURCE, out="/out")

    assert (report.log_start, report.log_end) == (0, 12)
    assert [each[:2] for each in report.gaps] == [(2, 3)]


def test_swap_of_a_set_that_was_not_complete_comes_last() -> None:
    cleaned = f"{EIGHT}.cleaned"
    files = directory({ZERO: batch(0), f"{ZERO}.swap": batch(0), cleaned: b"", EIGHT: batch(8)})

    assert [(each.name, each.rank) for each in source_files(files, SOURCE)] == [
        (ZERO, 1),
        (EIGHT, 1),
        (f"{ZERO}.swap", 2),
    ]


def test_batches_that_contradict_are_told() -> None:
    files = directory({ZERO: batch(0) + batch(4), "other.log": batch(2)})

    (note,) = salvage(tools(files), SOURCE, out="/out").notes

    assert note.startswith(f"{SOURCE}/other.log: the batch at position 0 says")


def test_batch_larger_than_a_segment_is_written() -> None:
    files = directory({ZERO: batch(0) + batch(4, value=b"v" * 900)})
    small = SalvageTools(
        files=files,
        clock=tools(files).clock,
        random=tools(files).random,
        config=LogConfig(segment_bytes=500),
    )

    assert salvage(small, SOURCE, out="/out").log_end == 8


def test_sets_end_where_a_segment_has_to() -> None:
    far = 1 << 31
    data = batch(0) + batch(4) + batch(far) + batch(far + 4)
    files = files_of({"a": data})
    path = f"{FOLDER}/a"
    chain = chain_of(path, found_in(data), bounds=Bounds(), epoch_for=lambda _: None)

    by_reach = list(sets(tools(files), chain.batches, most=1 << 20))
    by_size = list(sets(tools(files), chain.batches, most=150))

    assert [len(each) // len(batch()) for each in by_reach] == [2, 2]
    assert [len(each) // len(batch()) for each in by_size] == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("contents", "words"),
    (
        ({"a": b""}, "has no segment in it"),
        ({ZERO: b"\1" * 100}, "has no batch in it"),
    ),
)
def test_source_without_batches_is_refused(contents: dict[str, bytes], words: str) -> None:
    with pytest.raises(LogDirectoryError, match=words):
        salvage(tools(directory(contents)), SOURCE, out="/out")


@pytest.mark.parametrize("out", ("/logs", SOURCE, f"{SOURCE}/new"))
def test_source_is_not_written_to(out: str) -> None:
    with pytest.raises(LogDirectoryError, match="is there already"):
        salvage(tools(directory({ZERO: batch(0)})), SOURCE, out=out)


@pytest.mark.parametrize("name", ("broken", "\udcff-0"))
def test_source_whose_name_says_no_partition_needs_one(name: str) -> None:
    files = directory({})
    files.make_directory(f"/logs/{name}")
    files.create(f"/logs/{name}/{ZERO}").append(batch(0))

    with pytest.raises(LogDirectoryError, match="--partition"):
        salvage(tools(files), f"/logs/{name}", out="/out")


@pytest.mark.parametrize("name", ("u-0", "missing"))
def test_source_that_is_not_there_is_refused(name: str) -> None:
    with pytest.raises(LogDirectoryError, match="is no directory"):
        salvage(tools(directory({})), f"/logs/{name}", out="/out")


def test_what_a_disk_cannot_read_costs_the_batches_in_it_alone() -> None:
    whole = directory({ZERO: b"".join(batch(4 * each, value=b"v" * 500) for each in range(10))})
    path = f"{SOURCE}/{ZERO}"

    report = salvage(tools(on_bad_disk(whole, path, range(5000, 5001))), SOURCE, out="/out")

    assert (report.log_start, report.log_end) == (0, 40)
    assert {each.first // 4 for each in (*report.lost, *report.doubtful)} <= {1, 2, 3}
    assert report.lost
    assert report.notes == (
        f"{path}: 4,096 bytes that the disk cannot read, from position 4096 on",
    )
