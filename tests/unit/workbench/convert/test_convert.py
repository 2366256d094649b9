"""Whole conversions: their result, and the resumption of an interrupted one."""

import json

import pytest

from cordwood.core.errors import (
    CorruptMessageError,
    LogDirectoryError,
    SettingError,
    UnsupportedForMessageFormatError,
)
from cordwood.core.types import Offset
from cordwood.records.batch_stream import batches
from cordwood.records.compression import Codec
from cordwood.records.record import Record
from cordwood.storage.checkpoints.checkpoint_files import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    read_offset_checkpoint,
    write_offset_checkpoint,
)
from cordwood.storage.files.atomic_write import exists, write_atomically
from cordwood.storage.producers.producer_snapshot import decode_snapshot
from cordwood.storage.reader.path_resolution import reader_of
from cordwood.storage.reader.transaction_reader import TransactionReader
from cordwood.testing.file_faults import PowerLoss
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.seeded_random import SeededRandom
from cordwood.workbench.convert.batch_converter import ConvertOptions
from cordwood.workbench.convert.convert import WORK, convert, open_conversion
from cordwood.workbench.convert.segment_converter import convert_segments
from cordwood.workbench.file_window import ignore_bytes
from cordwood.workbench.verify.verify import verify
from tests.unit.storage.log_samples import PARTITION, produced
from tests.unit.storage.reader_samples import directory
from tests.unit.storage.segment_samples import v2
from tests.unit.workbench.convert_samples import log_directory

BY_ZSTD = ConvertOptions(codec=Codec.ZSTD)


def converted(
    files: MemoryFiles, options: ConvertOptions = BY_ZSTD, *, path: str = "/d", seed: int = 7
) -> str:
    random = SeededRandom(seed)
    return str(convert(files, [path], out="/new", options=options, random=random))


def records_in(files: MemoryFiles, path: str) -> list[Record]:
    runs = [bytes(run.data) for run in reader_of(files, path).buffers()]
    return [record for run in runs for each in batches(run) for record in each.records()]


def tree(files: MemoryFiles, path: str = "/new") -> dict[str, bytes]:
    """Return the files below a path with their contents."""
    found: dict[str, bytes] = {}
    for name in files.list(path) if exists(files, path) else ():
        below = f"{path}/{name}"
        if files.stat(below).is_directory:
            found |= tree(files, below)
        else:
            file = files.open(below)
            found[below] = file.pread(file.size, 0)
    return found


def test_converted_log_has_the_same_records_and_transactions() -> None:
    files = log_directory()

    report = converted(files)

    assert report.startswith("/new: t-0: ")
    assert records_in(files, "/new/t-0") == records_in(files, "/d/t-0")
    before, after = (TransactionReader(reader_of(files, path)) for path in ("/d/t-0", "/new/t-0"))
    assert after.aborted_between(0, 90) == before.aborted_between(0, 90) != ()


def test_converted_log_is_found_in_order() -> None:
    files = log_directory()

    converted(files)

    found = verify(files, ["/new"])
    assert [str(each) for each in found.all_findings] == []
    assert (found.partitions[0].log_end, found.partitions[0].segments) == (90, 3)
    assert WORK not in files.list("/new")
    assert ".kafka_cleanshutdown" in files.list("/new")


def test_log_start_inside_a_segment_is_checkpointed() -> None:
    files = log_directory()
    path = f"/d/{LOG_START_OFFSETS}"
    files.create(path).append(b"0\n1\nt 0 3\n")

    converted(files)

    assert read_offset_checkpoint(files, f"/new/{LOG_START_OFFSETS}") == {PARTITION: 3}


def test_log_start_behind_the_last_batch_of_a_segment_is_converted() -> None:
    """A cleaner has removed the offsets up to the next segment."""
    files = directory(log=v2(0, 3), log_10=v2(10, 12))
    for name, offset in ((LOG_START_OFFSETS, 6), (CLEANER_OFFSETS, 10)):
        write_offset_checkpoint(files, f"/d/{name}", offsets={PARTITION: Offset(offset)})

    converted(files)

    assert [record.offset for record in records_in(files, "/new/t-0")] == [10, 11, 12]
    assert verify(files, ["/new"]).damages == ()
    assert read_offset_checkpoint(files, f"/new/{LOG_START_OFFSETS}") == {PARTITION: 6}


def test_high_watermark_is_not_above_that_of_the_source() -> None:
    files = log_directory()
    write_offset_checkpoint(files, f"/d/{HIGH_WATERMARKS}", offsets={PARTITION: Offset(60)})

    converted(files)

    assert read_offset_checkpoint(files, f"/new/{HIGH_WATERMARKS}") == {PARTITION: 60}


def test_open_transaction_of_a_running_broker_stays_open() -> None:
    """Without a snapshot at the end, a broker that opens the new log would forget it."""
    opened = produced(0, 2, producer=(9, 0), at=4, is_transactional=True)
    files = directory(log=v2(0, 3) + bytes(opened) + v2(6, 8))

    converted(files)

    assert verify(files, ["/new"]).damages == ()
    known = decode_snapshot(files.open(f"/new/t-0/{9:020}.snapshot").pread(1000, 0), path="")
    assert [(each.producer_id, each.transaction_first_offset) for each in known] == [(9, 4)]


def test_damaged_snapshot_is_not_copied() -> None:
    files = log_directory()
    snapshots = [each for each in files.list("/d/t-0") if each.endswith(".snapshot")]
    for each in snapshots:
        path = f"/d/t-0/{each}"
        data = files.open(path).pread(1000, 0)
        files.remove(path)
        files.create(path).append(data[:-1] + b"x")

    converted(files)

    assert [each for each in files.list("/new/t-0") if each in snapshots] == [f"{90:020}.snapshot"]
    assert verify(files, ["/new"]).damages == ()


def test_log_that_has_lost_its_tail_is_rejected() -> None:
    files = log_directory()
    files.create(f"/d/t-0/{95:020}.snapshot")

    with pytest.raises(LogDirectoryError, match="offsets 90 to 94 at the end: missing"):
        converted(files)


def test_log_that_cannot_be_message_format_v1_is_named() -> None:
    with pytest.raises(UnsupportedForMessageFormatError) as rejected:
        converted(log_directory(), ConvertOptions(1))

    words = f"/d/t-0/{0:020}.log: cannot be message format v1: magic 1 keeps no producer ids"
    assert str(rejected.value).startswith(words)


@pytest.mark.parametrize(
    "text", ("{", "[]", json.dumps({"told": 1, "partitions": []}), '{"told": {}}')
)
def test_damaged_plan_is_named(text: str) -> None:
    files = log_directory()
    with open_conversion(files, ["/d"], out="/new", options=BY_ZSTD):
        pass
    write_atomically(files, f"/new/{WORK}.json", data=text.encode())

    with pytest.raises(LogDirectoryError, match=f"/new/{WORK}.json: not the plan of a conversion"):
        converted(files)


def test_missing_segment_is_named() -> None:
    files = log_directory()
    with open_conversion(files, ["/d"], out="/other", options=BY_ZSTD) as conversion:
        _, second, _ = conversion.remaining
    files.remove(f"/d/t-0/{second.base_offset:020}.log")

    report = converted(files)

    assert f"missing: offsets {second.start} to {second.end - 1}" in report


def test_log_start_that_moves_during_the_conversion_is_checkpointed() -> None:
    files = log_directory()
    with open_conversion(files, ["/d"], out="/new", options=BY_ZSTD) as conversion:
        first, second, _ = conversion.remaining
    files.remove(f"/d/t-0/{first.base_offset:020}.log")
    files.create(f"/d/{LOG_START_OFFSETS}").append(b"0\n1\nt 0 %d\n" % (second.start + 2))

    report = converted(files)

    assert f"the log start has moved to {second.start + 2} during the conversion" in report
    offsets = read_offset_checkpoint(files, f"/new/{LOG_START_OFFSETS}")
    assert offsets == {PARTITION: second.start + 2}


def test_log_that_was_deleted_since_the_plan_is_not_converted() -> None:
    files = log_directory()
    with open_conversion(files, ["/d"], out="/new", options=BY_ZSTD) as conversion:
        convert_segments(
            files,
            conversion.remaining[:1],
            options=BY_ZSTD,
            random=SeededRandom(7),
            on_bytes=ignore_bytes,
        )

        with pytest.raises(LogDirectoryError, match="2 of 3 segments are not converted"):
            conversion.finish()


@pytest.mark.parametrize("count", (0, 1, 2))
def test_log_whose_end_was_deleted_since_the_plan_is_not_converted(count: int) -> None:
    """Retention has deleted all planned segments; the log goes on at a later offset."""
    files = log_directory()
    with open_conversion(files, ["/d"], out="/new", options=BY_ZSTD) as conversion:
        tasks = conversion.remaining
        convert_segments(
            files, tasks[:count], options=BY_ZSTD, random=SeededRandom(7), on_bytes=ignore_bytes
        )
    for task in tasks:
        files.remove(f"/d/t-0/{task.base_offset:020}.log")
    files.create(f"/d/t-0/{95:020}.log")

    with pytest.raises(LogDirectoryError, match=f"{3 - count} of 3 segments are not converted"):
        converted(files)

    assert "t-0" not in files.list("/new")


def test_plan_of_an_earlier_version_is_named() -> None:
    files = log_directory()
    with open_conversion(files, ["/d"], out="/new", options=BY_ZSTD):
        pass
    stored = json.loads(tree(files)["/new/.converting.json"])
    stored["partitions"][0]["segments"] = [each[:7] for each in stored["partitions"][0]["segments"]]
    files.open("/new/.converting.json", writable=True).truncate(0)
    files.open("/new/.converting.json", writable=True).append(json.dumps(stored).encode())

    with pytest.raises(LogDirectoryError, match="by an earlier version, without the sizes"):
        converted(files)


def test_interrupted_conversion_resumes_after_any_change() -> None:
    whole = log_directory()
    converted(whole)
    is_over, changes = False, 0
    while not is_over:
        files = log_directory()
        files.script.stop_after(changes)
        try:
            converted(files)
            is_over = True
        except PowerLoss:
            files = files.after_crash(range(len(files.pending())))
        files.script.reset()
        if tree(files) != tree(whole):
            converted(files, seed=8)
        assert tree(files) == tree(whole), f"stopped after {changes} changes"
        changes += 11

    assert changes > 100


def test_unfinished_conversion_is_not_resumed_with_other_options() -> None:
    files = log_directory()
    with open_conversion(files, ["/d"], out="/new", options=BY_ZSTD):
        pass

    with pytest.raises(LogDirectoryError, match="contains an unfinished conversion of /d"):
        converted(files, ConvertOptions(codec=Codec.GZIP))


def test_damage_is_reported_and_stops_the_conversion_of_its_log() -> None:
    files = log_directory()
    name = f"/d/t-0/{0:020}.log"
    files.open(name, writable=True).pwrite(b"\xff", 100)

    with pytest.raises(CorruptMessageError, match=rf"{name}: the checksum is wrong"):
        converted(files)

    assert "t-0" not in files.list("/new")


@pytest.mark.parametrize(
    ("path", "error", "words"),
    (
        (f"/d/t-0/{0:020}.log", SettingError, "is a single segment, not a log"),
        ("/odd", LogDirectoryError, "is not named after a partition"),
    ),
)
def test_path_without_a_log_is_rejected(path: str, error: type[Exception], words: str) -> None:
    files = log_directory()
    files.make_directory("/odd")
    files.create(f"/odd/{0:020}.log")

    with pytest.raises(error, match=words):
        converted(files, path=path)


def test_existing_partition_is_rejected() -> None:
    files = log_directory()
    converted(files)

    with pytest.raises(LogDirectoryError, match="would contain t-0 twice"):
        converted(files)
