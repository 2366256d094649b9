"""The output is an ordinary segment: indexes, time, transactions, and all of it fsynced."""

from dataclasses import replace
from pathlib import Path

import pytest

from cordwood.compaction.cleaning_job import CleanedSegment
from cordwood.compaction.passes.segment_writer import (
    GATHERED_BYTES,
    CleanedSegmentWriter,
    CountingWriter,
)
from cordwood.core.binary import INT32_MAX
from cordwood.core.system import SystemFiles
from cordwood.records.tail_scan import PlainTailScanner, TailScanner
from cordwood.storage.files.file_names import CLEANED
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log_config import LogConfig
from cordwood.storage.segment.log_segment import LogSegment
from cordwood.storage.segment.segment_files import SegmentPath
from cordwood.storage.segment.transaction_index import AbortedTxn
from cordwood.testing.memory_files import MemoryFiles
from tests.descriptors import open_descriptors
from tests.unit.compaction.compaction_samples import NOW, batch, marker
from tests.unit.storage.segment_samples import filled, headers_of

DIRECTORY = "/t-0"
CONFIG = LogConfig(segment_index_bytes=1200, index_interval_bytes=100)
BATCHES = [batch(at, "a1 b2", time=NOW - 7 * at) for at in range(3, 40, 3)]
FAR = INT32_MAX + 10


def directory() -> MemoryFiles:
    files = MemoryFiles()
    files.make_directory(DIRECTORY)
    files.sync_directory("/")
    return files


def written(
    files: MemoryFiles,
    *parts: bytes,
    aborted: tuple[AbortedTxn, ...] = (),
    strider: TailScanner | None = None,
) -> tuple[CleanedSegment, ...]:
    writer = CleanedSegmentWriter(files, DIRECTORY, config=CONFIG, strider=strider)
    writer.begin(0)
    for part in parts:
        writer.append(part)
    return writer.finish(aborted, modified_ms=NOW)


def opened(files: MemoryFiles, base: int = 0, suffix: str = CLEANED) -> LogSegment:
    path = SegmentPath(DIRECTORY, base, suffix)
    return LogSegment.open(OpenFileCache(files, 8), path, config=CONFIG, now_ms=0)


def content(files: MemoryFiles, suffix: str) -> dict[str, bytes]:
    names = [name for name in files.list(DIRECTORY) if name.endswith(suffix)]
    found = {name: files.open(f"{DIRECTORY}/{name}") for name in names}
    return {name.removesuffix(suffix): file.pread(file.size, 0) for name, file in found.items()}


def test_segment_has_the_same_files_as_one_written_by_appends() -> None:
    mine, theirs = directory(), directory()
    made = LogSegment.create(
        OpenFileCache(theirs, 8), SegmentPath(DIRECTORY, 0), config=CONFIG, now_ms=0
    )

    written(mine, b"".join(BATCHES[:5]), b"".join(BATCHES[5:]))
    filled(made, BATCHES).become_inactive()

    assert content(mine, CLEANED) == content(theirs, "")
    assert len(content(mine, CLEANED)) == 3


def test_segment_has_the_same_files_when_batches_are_scanned_by_a_kernel() -> None:
    """A stride ends before a marker, and another one follows a long stride."""
    plain, strode = directory(), directory()
    parts = [batch(at, "a1") for at in range(80)]
    parts[40] = marker(40, is_commit=True)

    written(plain, b"".join(parts))
    written(strode, b"".join(parts), strider=PlainTailScanner())

    assert content(strode, CLEANED) == content(plain, CLEANED)


def test_group_has_no_data_of_the_previous_group() -> None:
    writer = CleanedSegmentWriter(files := directory(), DIRECTORY, config=CONFIG)
    found = list[CleanedSegment]()
    for base in (0, 100):
        writer.begin(base)
        writer.append(batch(base, "a1"))
        found += writer.finish([], modified_ms=NOW)

    size = len(batch(0, "a1"))
    assert found == [CleanedSegment(0, size), CleanedSegment(100, size)]
    assert content(files, CLEANED)[f"{100:020}.log"] == batch(100, "a1")


@pytest.mark.parametrize("is_finished", (True, False))
def test_files_are_closed_at_the_end(tmp_path: Path, *, is_finished: bool) -> None:
    before = open_descriptors()
    writer = CleanedSegmentWriter(SystemFiles(), str(tmp_path), config=CONFIG)
    writer.begin(0)

    if is_finished:
        writer.finish([], modified_ms=NOW)
    else:
        writer.close()

    assert open_descriptors() == before


def test_segment_is_not_preallocated_when_the_topic_preallocates() -> None:
    config = replace(CONFIG, segment_bytes=1 << 20, preallocate=True)
    writer = CleanedSegmentWriter(files := directory(), DIRECTORY, config=config)
    writer.begin(0)

    assert files.open(f"{DIRECTORY}/{0:020}.log{CLEANED}").size == 0
    writer.close()


def test_segment_has_the_timestamp_of_the_replaced_segments() -> None:
    written(files := directory(), *BATCHES)

    assert (
        opened(files).files.open_files.files.stat(opened(files).files.log_path).modified_ms == NOW
    )


def test_batches_are_gathered_until_it_pays_to_write_them() -> None:
    writer = CleanedSegmentWriter(files := directory(), DIRECTORY, config=CONFIG)
    large = batch(0, "a" + "1" * GATHERED_BYTES)
    writer.begin(0)

    for part, size in ((batch(0, "a1"), 0), (large, len(batch(0, "a1")) + len(large))):
        writer.append(part)
        assert files.open(f"{DIRECTORY}/{0:020}.log{CLEANED}").size == size


def test_empty_group_is_an_empty_segment() -> None:
    found = written(files := directory())

    assert found == (CleanedSegment(0, 0),)
    assert content(files, CLEANED)[f"{0:020}.log"] == b""


def test_segment_is_rolled_before_an_offset_that_has_no_place_in_it() -> None:
    near, far, last = b"".join(BATCHES), batch(FAR, "b2"), batch(FAR + 1, "c3")

    found = written(files := directory(), near + far, last)
    written(alone := directory(), near)

    assert found == (CleanedSegment(0, len(near)), CleanedSegment(FAR, len(far + last)))
    assert content(files, CLEANED)[f"{FAR:020}.log"] == far + last
    assert content(files, CLEANED).items() >= content(alone, CLEANED).items()


@pytest.mark.parametrize("strider", (None, PlainTailScanner()))
@pytest.mark.parametrize(("room", "bases"), ((0, [0]), (-1, [0, 9])))
def test_segment_is_rolled_before_a_position_that_has_no_place_in_it(
    room: int, bases: list[int], strider: TailScanner | None
) -> None:
    writer = CleanedSegmentWriter(files := directory(), DIRECTORY, config=CONFIG, strider=strider)
    writer.begin(0)
    first, last = batch(3, "a1"), batch(9, "b2")
    writer.last.size = INT32_MAX - len(first) - len(last) - room
    writer.append(first)
    writer.append(last)
    writer.finish([], modified_ms=NOW)

    assert [int(name[:20]) for name in content(files, ".log" + CLEANED)] == bases


def test_aborted_transactions_are_in_the_segments_of_their_markers() -> None:
    early, late = AbortedTxn(1, 2, 5, 6), AbortedTxn(1, 8, FAR + 1, FAR + 2)

    written(files := directory(), batch(5, "a1") + batch(FAR + 1, "b2"), aborted=(early, late))

    entries = [list(opened(files, base).files.transaction_index.read()) for base in (0, FAR + 1)]
    assert entries == [[early], [late]]


def test_all_is_on_disk_but_the_names() -> None:
    written(files := directory(), *BATCHES)
    files.sync_directory(DIRECTORY)

    files.crash()

    assert [each.base_offset for each in headers_of(content(files, CLEANED)[f"{0:020}.log"])] == [
        each.base_offset for each in headers_of(b"".join(BATCHES))
    ]


def test_groups_that_are_not_written_are_counted() -> None:
    groups = CountingWriter()

    for base_offset, sizes in ((0, (3, 4)), (10, ())):
        groups.begin(base_offset)
        for size in sizes:
            groups.append(bytes(size))
        assert groups.finish((), modified_ms=0) == (CleanedSegment(base_offset, sum(sizes)),)
    groups.close()
