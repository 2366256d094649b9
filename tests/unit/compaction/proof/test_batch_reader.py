"""Reading for a verification: whole batches, with blocks of any size."""

from contextlib import closing

import pytest

from cordwood.compaction.proof.batch_reader import (
    BatchCursor,
    ReadAheadThread,
    ReadOptions,
    SegmentFile,
)
from cordwood.core.errors import CorruptMessageError
from cordwood.core.ports import Worker
from cordwood.core.system import ThreadWorker
from cordwood.storage.files.directory_source import DirectorySource
from cordwood.testing.memory_files import MemoryFiles
from tests.unit.compaction.compaction_samples import batch

DATA = batch(0, "a1 b1") + batch(2, "c1") + batch(3, "d1 e1 f1")


def read(
    data: bytes, *, io_bytes: int, size: int | None = None, worker: Worker | None = None
) -> tuple[list[int], list[int]]:
    """Return where batches were found, and how many bytes were read each time."""
    files = MemoryFiles()
    files.make_directory("/t-0")
    file = SegmentFile(0, "", len(data) if size is None else size, 0, 0)
    files.create(f"/t-0/{file.name}").append(data)
    told: list[int] = []
    ahead = None if worker is None else ReadAheadThread(worker, DirectorySource(files, "/t-0"))
    reading = ReadOptions(DirectorySource(files, "/t-0"), io_bytes, told.append, ahead)
    with closing(BatchCursor(reading, (file,))) as batches:
        return [found.header.position for found in batches], told


@pytest.mark.parametrize("io_bytes", (17, 100, 160, 1 << 20))
def test_batches_are_found_at_every_read_size(io_bytes: int) -> None:
    positions, told = read(DATA, io_bytes=io_bytes)

    assert positions == [0, len(batch(0, "a1 b1")), len(batch(0, "a1 b1") + batch(2, "c1"))]
    assert sum(told) == len(DATA)
    assert read(DATA, io_bytes=io_bytes, worker=ThreadWorker(1)) == (positions, told)


@pytest.mark.parametrize("io_bytes", (10_000, 1 << 20))
def test_batches_larger_than_the_read_size_are_found(io_bytes: int) -> None:
    large = batch(0, "a" + "1" * 200_000)

    positions, _ = read(large + batch(1, "b1"), io_bytes=io_bytes)

    assert positions == [0, len(large)]


def test_empty_file_has_no_batches() -> None:
    assert read(b"", io_bytes=64) == ([], [])


@pytest.mark.parametrize("cut", (1, 40, len(batch(3, "d1 e1 f1")) - 5))
def test_incomplete_last_batch_is_rejected(cut: int) -> None:
    with pytest.raises(CorruptMessageError, match="cut off"):
        read(DATA[:-cut], io_bytes=64)


def test_file_shorter_than_planned_is_rejected() -> None:
    with pytest.raises(CorruptMessageError, match="cut off"):
        read(DATA, io_bytes=64, size=len(DATA) + 1)


def test_wrong_checksum_is_rejected() -> None:
    damaged = bytearray(DATA)
    damaged[-1] ^= 1

    with pytest.raises(CorruptMessageError, match="checksum"):
        read(bytes(damaged), io_bytes=1 << 20)


def test_peeked_batch_is_returned_next_or_skipped() -> None:
    files = MemoryFiles()
    files.make_directory("/t-0")
    file = SegmentFile(0, "", len(DATA), 0, 0)
    files.create(f"/t-0/{file.name}").append(DATA)
    batches = BatchCursor(
        ReadOptions(DirectorySource(files, "/t-0"), 1 << 10, lambda _: None), (file,)
    )

    first = batches.peek()
    assert first is not None
    assert batches.peek() is first
    assert batches.take() is first

    batches.go_over(len(batch(2, "c1")))
    assert [found.header.base_offset for found in batches] == [3]
    assert (batches.peek(), batches.take()) == (None, None)
