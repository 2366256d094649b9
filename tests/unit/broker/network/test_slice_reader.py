"""Tests of reads of file ranges: on the loop if they need no disk, else on the worker."""

import asyncio
import errno

import pytest

from cordwood.broker.network.slice_reader import SliceReader, TruncatedSliceError
from cordwood.core.errors import KafkaStorageError
from cordwood.core.ports import Slice
from cordwood.testing.file_faults import FileFault
from cordwood.testing.inline_worker import InlineWorker
from cordwood.testing.memory_files import MemoryFiles, MemorySlice
from tests.unit.broker.server_samples import Run, turn
from tests.unit.storage.manager_samples import HeldWorker

DATA = bytes(range(256))


class ColdSlice(MemorySlice):
    """A slice of which only the first bytes are in the page cache."""

    cached = 10

    def read_cached(self, start: int, length: int) -> memoryview:
        return self.read(start, length)[: max(0, self.cached - start)]


def cold_slice(files: MemoryFiles | None = None) -> ColdSlice:
    files = files or MemoryFiles()
    file = files.create("/data")
    file.append(DATA)
    return ColdSlice(file, 0, len(DATA))


def read(run: Run, reader: SliceReader, part: Slice, start: int, length: int) -> bytes:
    return bytes(run(reader.read(part, start, length=length)))


def test_cached_bytes_are_read_on_the_loop(run: Run) -> None:
    worker = HeldWorker()

    got = read(run, SliceReader(worker), cold_slice(), 4, 100)

    assert got == DATA[4:10]
    assert worker.held == []


def test_other_bytes_are_read_on_the_worker(run: Run) -> None:
    worker = HeldWorker()
    reader = SliceReader(worker)

    async def scene() -> tuple[bool, bytes]:
        reading = asyncio.get_running_loop().create_task(reader.read(cold_slice(), 10, length=100))
        await turn()
        is_done = reading.done()
        worker.go_on()
        return is_done, bytes(await reading)

    assert run(scene()) == (False, DATA[10:110])


def test_whole_slice_is_read_from_both(run: Run) -> None:
    reader = SliceReader(InlineWorker())

    pieces = [bytes(piece) for piece in run(reader.read_all(cold_slice()))]

    assert pieces == [DATA[:10], DATA[10:]]


@pytest.mark.parametrize(("length", "calls"), ((10, 0), (11, 1)))
def test_range_is_loaded_on_the_worker_unless_both_its_ends_are_cached(
    run: Run, length: int, calls: int
) -> None:
    worker = HeldWorker()

    async def scene() -> int:
        loop = asyncio.get_running_loop()
        loading = loop.create_task(SliceReader(worker).load(cold_slice(), 0, length=length))
        await turn()
        held = len(worker.held)
        worker.go_on()
        await loading
        return held

    assert run(scene()) == calls


@pytest.mark.parametrize("first", (1, 2))
def test_error_of_the_file_is_reported_to_the_slice(run: Run, first: int) -> None:
    files = MemoryFiles()
    part = cold_slice(files)
    files.script.add(FileFault(on="pread", first=first, code=errno.EIO))

    with pytest.raises(KafkaStorageError, match="/data"):
        read(run, SliceReader(InlineWorker()), part, 10, 100)


def test_truncated_file_is_an_error(run: Run) -> None:
    files = MemoryFiles()
    part = cold_slice(files)
    files.open("/data", writable=True).truncate(20)

    with pytest.raises(TruncatedSliceError, match=f"{len(DATA) - 30} bytes"):
        read(run, SliceReader(InlineWorker()), part, 30, 100)
