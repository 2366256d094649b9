"""A partition's directory is salvaged into another log directory."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cordwood.core.errors import LogDirectoryError
from cordwood.core.ports import Ports
from cordwood.core.system import SystemFiles
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.records.legacy_builder import LegacyBuilder
from cordwood.storage.files.atomic_write import read_whole
from cordwood.storage.log_config import LogConfig
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import VirtualClock
from cordwood.workbench.partition_view import open_partition
from cordwood.workbench.salvage.salvage import SalvageOptions, salvage
from cordwood.workbench.salvage.salvage_report import DISPLACED, OUT_OF_BOUNDS, WITHOUT_LOG
from tests.descriptors import open_descriptors
from tests.unit.workbench.bad_disk import on_bad_disk
from tests.unit.workbench.salvage_samples import (
    SOURCE,
    batch,
    broken,
    cleaned_batch,
    directory,
    harmed,
    marker,
    ports,
    transactional,
)

ZERO = "00000000000000000000.log"
EIGHT = "00000000000000000008.log"
METADATA = b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAFw"


def names(files: MemoryFiles, path: str = "/out/t-0") -> list[str]:
    return [name.lstrip("0") for name in files.list(path)]


def test_salvaged_log_keeps_all_offsets() -> None:
    broken = harmed(batch(4), 61, 62)
    files = directory({ZERO: batch(0) + broken, EIGHT: batch(8), "partition.metadata": METADATA})

    report = salvage(ports(files), SOURCE, out="/out")

    assert [each[:2] for each in report.lost] == [(4, 4)]
    assert [each[:2] for each in report.doubtful] == [(5, 7)]
    assert (report.log_start, report.log_end, report.batches) == (0, 12, 3)
    assert open_partition(files, "/out/t-0", clock=VirtualClock()).offsets().log_end == 12
    assert {".log", ".index", ".timeindex", "12.snapshot".lstrip("0")} <= set(names(files))
    assert read_whole(files, "/out/t-0/partition.metadata") == METADATA


def test_checkpoints_of_the_new_log_are_written() -> None:
    beside = {"log-start-offset-checkpoint": b"0\n1\nt 0 2\n"}
    files = directory({ZERO: batch(0) + batch(4)}, beside=beside)

    report = salvage(ports(files), SOURCE, out="/out")

    assert (report.log_start, report.is_whole) == (2, True)
    assert read_whole(files, "/out/log-start-offset-checkpoint") == b"0\n1\nt 0 2\n"
    assert read_whole(files, "/out/recovery-point-offset-checkpoint") == b"0\n1\nt 0 8\n"
    assert ".kafka_cleanshutdown" in files.list("/out")


def test_second_partition_can_be_salvaged_into_the_same_log_directory() -> None:
    files = directory({ZERO: batch(0)})
    other = TopicPartition(TopicName("u"), PartitionId(1))

    salvage(ports(files), SOURCE, out="/out")
    salvage(ports(files), SOURCE, out="/out", partition=other)

    assert read_whole(files, "/out/replication-offset-checkpoint") == b"0\n2\nt 0 4\nu 1 4\n"


def test_missing_offsets_that_no_cleaner_explains_are_lost() -> None:
    files = directory({ZERO: batch(0), EIGHT: batch(8)})

    report = salvage(ports(files), SOURCE, out="/out")

    assert not report.is_whole
    assert [each[:3] for each in report.lost] == [(4, 7, "in no file")]
    assert report.gaps == ()


def test_missing_offsets_below_the_cleaner_s_checkpoint_are_a_gap() -> None:
    beside = {"cleaner-offset-checkpoint": b"0\n1\nt 0 8\n"}
    files = directory({ZERO: batch(0), EIGHT: batch(8)}, beside=beside)

    report = salvage(ports(files), SOURCE, out="/out")

    assert report.is_whole
    assert [each[:2] for each in report.gaps] == [(4, 7)]


@pytest.mark.parametrize(
    "left",
    (
        {f"{5:020}.index": b""},
        {f"{5:020}.log": b"", f"{5:020}.timeindex": bytes(12)},
        {f"{5:020}.index.swap": b""},
    ),
    ids=("index", "index and empty log", "index of a cleaner"),
)
def test_cleaner_does_not_explain_a_segment_that_has_left_an_index(left: dict[str, bytes]) -> None:
    beside = {"cleaner-offset-checkpoint": b"0\n1\nt 0 8\n"}
    files = directory({ZERO: batch(0), EIGHT: batch(8)} | left, beside=beside)

    report = salvage(ports(files), SOURCE, out="/out")

    assert [each[:3] for each in report.lost] == [(4, 7, WITHOUT_LOG)]
    assert report.gaps == ()


def test_cleaner_explains_a_segment_that_is_empty_like_its_indexes() -> None:
    beside = {"cleaner-offset-checkpoint": b"0\n1\nt 0 8\n"}
    empty = {f"{5:020}.{each}": b"" for each in ("log", "index", "timeindex")}
    files = directory({ZERO: batch(0), EIGHT: batch(8)} | empty, beside=beside)

    assert salvage(ports(files), SOURCE, out="/out").is_whole


def test_missing_offsets_before_a_cleaned_batch_are_a_gap() -> None:
    files = directory({ZERO: batch(0), EIGHT: cleaned_batch(8)})

    report = salvage(ports(files), SOURCE, out="/out")

    assert report.is_whole
    assert [each[:2] for each in report.gaps] == [(4, 7)]


def test_end_of_a_torn_log_before_a_copy_of_it_is_lost() -> None:
    torn = batch(0) + batch(4)[:30]
    files = directory({ZERO: torn, f"{90:020}.log": torn})

    report = salvage(ports(files), SOURCE, out="/out")

    assert [each[:2] for each in report.lost] == [(4, None)]


def test_checkpointed_offsets_in_no_file_are_lost() -> None:
    beside = {"replication-offset-checkpoint": b"0\n1\nt 0 9\n"}
    files = directory({ZERO: batch(0)}, beside=beside)

    report = salvage(ports(files), SOURCE, out="/out")

    assert [each[:2] for each in report.lost] == [(4, 8)]


def test_damaged_side_files_are_reported() -> None:
    beside = {"replication-offset-checkpoint": b"x"}
    contents = {ZERO: batch(0), "leader-epoch-checkpoint": b"x", "partition.metadata": b"x"}
    files = directory(contents, beside=beside)

    report = salvage(ports(files), SOURCE, out="/out")

    assert len(report.notes) == 2
    assert "partition.metadata" not in names(files)


def test_files_under_other_names_are_read_too() -> None:
    contents = {ZERO: batch(0), "copy.log": batch(0) + batch(4), f"{EIGHT}.deleted": batch(8)}

    report = salvage(ports(directory(contents)), SOURCE, out="/out")

    assert report.log_end == 8
    assert report.notes == ("1 duplicate batches were left out",)


def test_swap_file_replaces_the_segments_it_covers() -> None:
    swap = batch(0, 2) + cleaned_batch(4)
    contents = {ZERO: batch(0), EIGHT: batch(8), f"{ZERO}.swap": swap}

    report = salvage(ports(directory(contents)), SOURCE, out="/out")

    assert (report.log_start, report.log_end) == (0, 12)
    assert [each[:2] for each in report.gaps] == [(2, 3)]


def test_swap_file_without_its_tail_does_not_replace_what_is_behind_it() -> None:
    contents = {ZERO: batch(0) + batch(4), EIGHT: batch(8), f"{ZERO}.swap": cleaned_batch(0)}

    report = salvage(ports(directory(contents)), SOURCE, out="/out")

    assert (report.batches, report.log_end) == (3, 12)
    assert report.is_whole


def test_swap_files_replace_no_segment_between_them() -> None:
    contents = {f"{4 * at:020}.log": batch(4 * at) for at in range(3)}
    swaps = {f"{name}.swap": contents[name] for name in (ZERO, EIGHT)}

    report = salvage(ports(directory(contents | swaps)), SOURCE, out="/out")

    assert (report.is_whole, report.batches) == (True, 3)


def test_swap_files_of_one_replacement_cover_what_they_have_removed_between_them() -> None:
    old = {ZERO: batch(0) + batch(4) + batch(8), f"{12:020}.log": batch(12)}
    swaps = {f"{ZERO}.swap": cleaned_batch(0), f"{EIGHT}.swap": cleaned_batch(8)}

    report = salvage(ports(directory(old | swaps)), SOURCE, out="/out")

    assert (report.is_whole, report.batches) == (True, 3)
    assert [each[:2] for each in report.gaps] == [(4, 7)]


def test_records_that_the_batch_of_another_replica_lacks_are_lost() -> None:
    contents = {ZERO: broken(batch(0)), EIGHT: batch(8), "copy.log": cleaned_batch(0)}

    report = salvage(ports(directory(contents)), SOURCE, out="/out")

    assert [each[:2] for each in report.lost] == [(1, 3), (4, 7)]
    assert report.gaps == ()


def test_file_is_from_another_replica_if_other_files_of_a_broker_are_there() -> None:
    contents = {"copy.log": cleaned_batch(0)}
    beside: tuple[dict[str, bytes], ...] = (
        {},
        {ZERO.replace("log", "index"): b""},
        {ZERO.replace("log", "snapshot"): b""},
    )

    reports = [salvage(ports(directory(contents | each)), SOURCE, out="/out") for each in beside]

    lost = [[each[:2] for each in report.lost] for report in reports]
    assert lost == [[], [(1, 3), (4, None)], [(1, 3), (4, None)]]


@pytest.mark.parametrize(("end", "lost"), ((0, [(8, None)]), (8, []), (9, [(8, 8)])))
def test_end_of_another_replica_s_file_is_not_that_of_the_log(
    end: int, lost: list[tuple[int, int | None]]
) -> None:
    beside = {"recovery-point-offset-checkpoint": b"0\n1\nt 0 %d\n" % end}
    contents = {"copy.log": batch(0) + batch(4), "leader-epoch-checkpoint": b"0\n1\n0 0\n"}

    report = salvage(ports(directory(contents, beside=beside)), SOURCE, out="/out")

    assert [each[:2] for each in report.lost] == lost


def test_cleaner_does_not_explain_a_gap_next_to_another_replica_s_batches() -> None:
    beside = {"cleaner-offset-checkpoint": b"0\n1\nt 0 8\n"}
    files = directory({EIGHT: batch(8), "copy.log": transactional(0, 2)}, beside=beside)

    report = salvage(ports(files), SOURCE, out="/out")

    assert [each[:2] for each in report.lost] == [(2, 7)]
    assert [each[:2] for each in report.doubtful] == [(0, 1)]


def test_offsets_that_a_moved_batch_with_an_impossible_offset_lacks_are_lost() -> None:
    wrong = harmed(cleaned_batch(8), 0, mask=0x80)
    files = directory({ZERO: batch(0) + wrong + batch(20), f"{24:020}.log": batch(24)})

    report = salvage(ports(files), SOURCE, out="/out")

    assert [each[:2] for each in report.lost] == [(5, 7), (8, 19)]
    assert [each[:2] for each in report.doubtful] == [(4, 7)]


def test_cleaner_does_not_explain_the_offset_of_a_batch_that_is_out_of_order() -> None:
    beside = {"cleaner-offset-checkpoint": b"0\n1\nt 0 8\n"}
    far = marker(1 << 40)
    files = directory({ZERO: transactional(0, 2) + far, EIGHT: batch(8)}, beside=beside)

    report = salvage(ports(files), SOURCE, out="/out")

    assert report.lost[0][:3] == (2, 2, DISPLACED)
    assert [each[:2] for each in report.lost] == [(2, 2), (3, 7)]
    assert [each[:3] for each in report.doubtful] == [
        (0, 1, "the marker of its transaction is doubtful"),
        (2, 2, f"its base offset {1 << 40} is out of order; it was put next to its neighbour"),
    ]


def message(offset: int, value: bytes) -> bytes:
    builder = LegacyBuilder(1, base_offset=offset)
    builder.append(b"key", value, timestamp=5)
    return bytes(builder.build())


def test_batch_beyond_its_file_displaces_none_of_the_next_file() -> None:
    contents = {ZERO: message(8, b"wrong"), EIGHT: message(8, b"right") + message(9, b"next")}
    files = directory(contents)

    report = salvage(ports(files), SOURCE, out="/out")

    assert [each[:2] for each in report.lost] == [(0, 7)]
    assert report.doubtful == ()
    assert read_whole(files, f"/out/t-0/{EIGHT}") == contents[EIGHT]


def test_batch_beyond_its_file_is_doubtful_and_its_place_is_lost() -> None:
    beside = {"cleaner-offset-checkpoint": b"0\n1\nt 0 8\n"}
    files = directory({ZERO: batch(90), EIGHT: batch(8)}, beside=beside)

    report = salvage(ports(files), SOURCE, out="/out")

    assert [each[:3] for each in report.doubtful] == [(90, 93, OUT_OF_BOUNDS)]
    assert [each[:2] for each in report.lost] == [(0, 7), (12, 89)]


def test_second_copy_of_a_segment_under_another_name_is_no_loss() -> None:
    files = directory({ZERO: batch(0), f"{90:020}.log": batch(0)})

    report = salvage(ports(files), SOURCE, out="/out")

    assert (report.is_whole, report.log_end) == (True, 4)


def test_records_are_doubtful_if_their_marker_may_have_been_where_a_found_batch_is() -> None:
    torn = batch(5, count=2, value=batch(5))[:-1]
    files = directory({ZERO: batch(0) + transactional(4) + torn})

    report = salvage(ports(files), SOURCE, out="/out")

    assert {4, 5} <= {each.first for each in report.doubtful}


def test_leader_epoch_of_a_file_with_one_batch_is_corrected_by_its_neighbours() -> None:
    contents = {f"{4 * at:020}.log": batch(4 * at, epoch=(1, 5, 2)[at]) for at in range(3)}

    report = salvage(ports(directory(contents)), SOURCE, out="/out")

    assert [each.why for each in report.mended] == ["repaired: leader epoch (was 5)"]


def test_batch_without_a_leader_epoch_among_others_is_whole() -> None:
    files = directory({ZERO: batch(0) + batch(4, epoch=-1) + batch(8)})

    report = salvage(ports(files), SOURCE, out="/out")

    assert (report.is_whole, report.mended) == (True, ())
    assert read_whole(files, f"/out/t-0/{ZERO}") == read_whole(files, f"{SOURCE}/{ZERO}")


def test_checkpoints_of_another_partition_are_not_used() -> None:
    beside = {"log-start-offset-checkpoint": b"0\n1\nu 0 4\n"}
    files = directory({ZERO: batch(0) + batch(4)}, beside=beside)

    report = salvage(
        ports(files), SOURCE, out="/out", partition=TopicPartition(TopicName("u"), PartitionId(0))
    )

    assert (report.log_start, report.log_end) == (0, 8)


@pytest.mark.parametrize(
    ("witness", "data", "end"),
    (
        ("00000000000000000009.snapshot", b"", []),
        ("leader-epoch-checkpoint", b"0\n2\n0 0\n1 9\n", [(9, None)]),
    ),
)
def test_tail_that_a_file_next_to_the_log_shows_is_lost(
    witness: str, data: bytes, end: list[tuple[int, None]]
) -> None:
    report = salvage(ports(directory({ZERO: batch(0), witness: data})), SOURCE, out="/out")

    assert [each[:2] for each in report.lost] == [(4, 8), *end]


@pytest.mark.parametrize(("entry", "lost"), ((b"", []), (b"\1", [(4, 4), (5, None)])))
def test_last_segment_of_zeros_is_lost_if_its_time_index_has_an_entry(
    entry: bytes, lost: list[tuple[int, int | None]]
) -> None:
    times = entry + bytes(24 - len(entry))
    contents = {ZERO: batch(0), f"{4:020}.log": bytes(90), f"{4:020}.timeindex": times}

    report = salvage(ports(directory(contents)), SOURCE, out="/out")

    assert [each[:2] for each in report.lost] == lost


class ChangedAfterTheScan(MemoryFiles):
    """Files of a broker that changes the first segment when the new log is created."""

    change: Callable[[MemoryFiles], object]

    def make_directory(self, path: str) -> None:
        super().make_directory(path)
        if path == "/out/t-0":
            self.change(self)


def overwritten(files: MemoryFiles) -> None:
    files.open(f"{SOURCE}/{ZERO}", writable=True).pwrite(batch(4), 0)


@pytest.mark.parametrize(
    "change",
    (
        lambda files: files.remove(f"{SOURCE}/{ZERO}"),
        lambda files: files.open(f"{SOURCE}/{ZERO}", writable=True).truncate(70),
        overwritten,
    ),
    ids=("removed", "truncated", "overwritten"),
)
def test_source_that_changes_after_the_scan_is_rejected(
    change: Callable[[MemoryFiles], object],
) -> None:
    files = ChangedAfterTheScan(VirtualClock())
    files.change = change
    for path in ("/logs", SOURCE):
        files.make_directory(path)
    for base in range(0, 24, 4):
        files.create(f"{SOURCE}/{base:020}.log").append(batch(base))

    with pytest.raises(LogDirectoryError, match=f"{ZERO}: has changed"):
        salvage(ports(files), SOURCE, out="/out")

    assert "t-0" not in files.list("/out")


def test_contradicting_batches_are_reported() -> None:
    files = directory({ZERO: batch(0) + batch(4), "other.log": batch(2)})

    (note,) = salvage(ports(files), SOURCE, out="/out").notes

    assert note.startswith(f"{SOURCE}/other.log: the batch at position 0 was left out")


def test_batch_larger_than_a_segment_is_written() -> None:
    files = directory({ZERO: batch(0) + batch(4, value=b"v" * 900)})
    small = SalvageOptions(config=LogConfig(segment_bytes=500))

    assert salvage(ports(files), SOURCE, out="/out", options=small).log_end == 8


@pytest.mark.parametrize(
    ("contents", "message"),
    (
        ({"a": b""}, "contains no segment"),
        ({ZERO: b"\1" * 100}, "contains no readable batch"),
    ),
)
def test_source_without_batches_is_rejected(contents: dict[str, bytes], message: str) -> None:
    with pytest.raises(LogDirectoryError, match=message):
        salvage(ports(directory(contents)), SOURCE, out="/out")


@pytest.mark.parametrize("out", ("/logs", SOURCE, f"{SOURCE}/new"))
def test_source_is_not_written_to(out: str) -> None:
    with pytest.raises(LogDirectoryError, match="already exists"):
        salvage(ports(directory({ZERO: batch(0)})), SOURCE, out=out)


@pytest.mark.parametrize("name", ("broken", "\udcff-0"))
def test_source_without_a_partition_name_requires_one(name: str) -> None:
    files = directory({})
    files.make_directory(f"/logs/{name}")
    files.create(f"/logs/{name}/{ZERO}").append(batch(0))

    with pytest.raises(LogDirectoryError, match="--partition"):
        salvage(ports(files), f"/logs/{name}", out="/out")


@pytest.mark.parametrize("name", ("u-0", "missing"))
def test_missing_source_is_rejected(name: str) -> None:
    with pytest.raises(LogDirectoryError, match="is not a directory"):
        salvage(ports(directory({})), f"/logs/{name}", out="/out")


def test_unreadable_page_costs_only_its_batches() -> None:
    whole = directory({ZERO: b"".join(batch(4 * each, value=b"v" * 500) for each in range(10))})
    path = f"{SOURCE}/{ZERO}"

    report = salvage(ports(on_bad_disk(whole, path, range(5000, 5001))), SOURCE, out="/out")

    assert (report.log_start, report.log_end) == (0, 40)
    assert {each.first // 4 for each in (*report.lost, *report.doubtful)} <= {1, 2, 3}
    assert report.lost
    assert report.notes == (
        f"{path}: 4,096 bytes that the disk cannot read, from position 4096 on",
    )


def test_partition_of_many_segments_needs_few_descriptors(tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    for at in range(60):
        (tmp_path / "t-0" / f"{4 * at:020}.log").write_bytes(batch(4 * at))
    before, seen = open_descriptors(), [0]
    options = SalvageOptions(on_bytes=lambda _: seen.append(open_descriptors()))
    system = Ports(files=SystemFiles(), clock=VirtualClock(), random=SeededRandom(1))

    report = salvage(system, f"{tmp_path}/t-0", out=f"{tmp_path}/out", options=options)

    assert (report.log_end, report.is_whole) == (240, True)
    assert max(seen) <= before + 20
