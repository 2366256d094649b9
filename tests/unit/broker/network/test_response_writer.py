"""Tests of the response writers."""

import asyncio
import errno
import gc
import itertools
import os
import socket
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cordwood.broker.network.response_writer import (
    PIECE_BYTES,
    READ_BYTES,
    SocketWriter,
    TransportWriter,
)
from cordwood.broker.network.slice_reader import SliceReader, TruncatedSliceError
from cordwood.broker.pending_results import next_turn
from cordwood.core.binary import Buffer
from cordwood.core.errors import KafkaStorageError
from cordwood.core.ports import Slice
from cordwood.core.system import SystemFiles
from cordwood.testing.inline_worker import InlineWorker
from cordwood.testing.memory_files import MemoryFiles
from tests.unit.broker.server_samples import Body, Run, turn

if TYPE_CHECKING:
    from cordwood.protocol.primitives import Chunk

DATA = bytes(range(256)) * 8192
SLICES = SliceReader(InlineWorker())


class CountedSlice:
    """A slice that counts its releases, and notes the length of each read."""

    def __init__(self, inner: Slice) -> None:
        self._inner = inner
        self.lengths: list[int] = []
        self.releases = 0

    @property
    def descriptor(self) -> int | None:
        return self._inner.descriptor

    @property
    def position(self) -> int:
        return self._inner.position

    @property
    def length(self) -> int:
        return self._inner.length

    def read(self, start: int = 0, length: int | None = None) -> memoryview:
        self.lengths.append(self.length - start if length is None else length)
        return self._inner.read(start, length)

    def read_cached(self, start: int, length: int) -> memoryview:
        self.lengths.append(length)
        return self._inner.read_cached(start, length)

    def fail(self, error: OSError) -> Exception:
        return self._inner.fail(error)

    def release(self) -> None:
        self.releases += 1
        self._inner.release()


@pytest.fixture(params=["descriptor", "memory"])
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> CountedSlice:
    """Return a range of a file with DATA after other bytes."""
    is_real = request.param == "descriptor"
    files = SystemFiles() if is_real else MemoryFiles()
    if not is_real:
        files.make_directory("/d")
    file = files.create(f"{tmp_path}/data" if is_real else "/d/data")
    file.append(b"before" + DATA)
    part = CountedSlice(file.slice(6, len(DATA)))
    file.close()
    return part


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Two connected sockets, the first with a small send buffer."""
    ours, theirs = socket.socketpair()
    ours.settimeout(0)
    theirs.settimeout(0)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    with ours, theirs:
        yield ours, theirs


def cut_slice(path: str, size: int) -> CountedSlice:
    """Return a range of a file that has been truncated to 4 bytes since."""
    file = SystemFiles().create(path)
    file.append(b"0123".ljust(size))
    part = CountedSlice(file.slice(0, size))
    file.truncate(4)
    file.close()
    return part


async def received(theirs: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        data += await asyncio.get_running_loop().sock_recv(theirs, 1 << 16)
    return bytes(data)


Ends = tuple[socket.socket, socket.socket]


def test_chunks_of_all_kinds_arrive_in_order(run: Run, ends: Ends, stored: CountedSlice) -> None:
    many = [b"%d," % number for number in range(3_000)]
    chunks: list[Chunk] = [b"head", *many, stored, bytearray(b""), memoryview(b"tail")]
    expected = b"head" + b"".join(many) + DATA + b"tail"

    async def scene() -> bytes:
        writer = SocketWriter(ends[0], asyncio.get_running_loop(), SLICES)
        async with asyncio.TaskGroup() as group:
            arrived = group.create_task(received(ends[1], len(expected)))
            await writer.send(chunks)
        writer.close()
        return arrived.result()

    assert run(scene()) == expected
    assert stored.releases == 1


def test_slice_is_released_when_the_writer_is_closed_during_a_send(
    run: Run, ends: Ends, stored: CountedSlice
) -> None:
    async def scene() -> None:
        loop = asyncio.get_running_loop()
        writer = SocketWriter(ends[0], loop, SLICES)
        loop.call_later(0.005, writer.close)
        await writer.send([b"head", stored])

    with pytest.raises(ConnectionAbortedError):
        run(scene())
    assert stored.releases == 1


def test_response_of_a_closed_writer_is_freed_without_the_garbage_collector(
    run: Run, ends: Ends
) -> None:
    async def scene() -> weakref.ref[Body]:
        loop = asyncio.get_running_loop()
        writer, body = SocketWriter(ends[0], loop, SLICES), Body(DATA)
        freed, sending = weakref.ref(body), loop.create_task(writer.send([body]))
        del body
        await turn()
        writer.close()
        await asyncio.wait([sending])
        assert isinstance(sending.exception(), ConnectionAbortedError)
        return freed

    gc.disable()
    try:
        assert run(scene())() is None
    finally:
        gc.enable()


def test_response_that_was_sent_in_part_fails_as_its_writer_is_closed(run: Run, ends: Ends) -> None:
    async def scene() -> None:
        loop = asyncio.get_running_loop()
        writer = SocketWriter(ends[0], loop, SLICES)
        sending = loop.create_task(writer.send([DATA]))
        while writer.sent_bytes == 0:  # the next part has its turn later
            await next_turn()
        writer.close()
        await sending

    with pytest.raises(ConnectionAbortedError):
        run(scene())


def test_slice_is_released_when_sending_is_cancelled(
    run: Run, ends: Ends, stored: CountedSlice
) -> None:
    async def scene() -> None:
        loop = asyncio.get_running_loop()
        writer = SocketWriter(ends[0], loop, SLICES)
        sending = loop.create_task(writer.send([b"head", stored]))
        loop.call_later(0.005, sending.cancel)
        try:
            await sending
        finally:
            writer.close()

    with pytest.raises(asyncio.CancelledError):
        run(scene())
    assert stored.releases == 1


def test_slice_is_released_when_the_client_has_disconnected(
    run: Run, ends: Ends, stored: CountedSlice
) -> None:
    ends[1].close()

    async def scene() -> None:
        writer = SocketWriter(ends[0], asyncio.get_running_loop(), SLICES)
        await writer.send([b"head", stored])

    with pytest.raises(BrokenPipeError):
        run(scene())
    assert stored.releases == 1


@pytest.mark.parametrize(("size", "sent"), ((READ_BYTES, b""), (READ_BYTES + 1, b"head0123")))
def test_file_truncated_during_the_send_ends_the_stream(
    run: Run, ends: Ends, tmp_path: Path, size: int, sent: bytes
) -> None:
    part = cut_slice(f"{tmp_path}/cut", size)

    async def scene() -> None:
        await SocketWriter(ends[0], asyncio.get_running_loop(), SLICES).send(
            [b"head", part, b"tail"]
        )

    with pytest.raises(TruncatedSliceError, match=f"{size - 4} bytes"):
        run(scene())
    ends[0].close()
    assert (ends[1].recv(100), part.releases) == (sent, 1)


def test_short_ranges_are_sent_with_the_buffers_around_them(run: Run, tmp_path: Path) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.settimeout(0)
    file = SystemFiles().create(f"{tmp_path}/short")
    file.append(b"0123456789")

    async def scene() -> None:
        writer = SocketWriter(ours, asyncio.get_running_loop(), SLICES)
        await writer.send([b"head", file.slice(0, 4), b"and", file.slice(8, 2), b"tail"])

    with ours, theirs:
        run(scene())
        assert theirs.recv(100) == b"head0123and89tail"
    file.close()


def test_long_total_of_short_ranges_is_not_read_at_once(
    run: Run, ends: Ends, tmp_path: Path
) -> None:
    data = bytes(range(256)) * (READ_BYTES // 256)
    file = SystemFiles().create(f"{tmp_path}/many")
    file.append(data)
    parts = [CountedSlice(file.slice(0, len(data))) for _ in range(3)]

    async def scene() -> bytes:
        writer = SocketWriter(ends[0], asyncio.get_running_loop(), SLICES)
        async with asyncio.TaskGroup() as group:
            arrived = group.create_task(received(ends[1], 3 * len(data)))
            await writer.send([*parts])
        return arrived.result()

    assert run(scene()) == data * 3
    assert [part.lengths for part in parts] == [[READ_BYTES], [1, 1], [READ_BYTES]]
    file.close()


class BrokenSlice(CountedSlice):
    """A slice whose file cannot be read, by sendfile either, but by reads of some lengths."""

    def __init__(self, inner: Slice, *, descriptor: int | None = None, readable: int = 1) -> None:
        super().__init__(inner)
        self._descriptor = descriptor
        self._readable = readable

    @property
    def descriptor(self) -> int | None:
        return self._descriptor

    def read_cached(self, start: int, length: int) -> memoryview:
        if length > self._readable:
            raise OSError(errno.EIO, "Input/output error")
        return super().read_cached(start, length)


@pytest.mark.parametrize("size", (READ_BYTES, READ_BYTES + 1))
def test_error_of_a_file_is_not_taken_for_one_of_the_client(
    run: Run, ends: Ends, tmp_path: Path, size: int
) -> None:
    path = f"{tmp_path}/broken"
    file = SystemFiles().create(path)
    file.append(bytes(size))
    unreadable = os.open(path, os.O_WRONLY)
    part = BrokenSlice(file.slice(0, size), descriptor=unreadable)

    async def scene() -> None:
        await SocketWriter(ends[0], asyncio.get_running_loop(), SLICES).send([b"head", part])

    with pytest.raises(KafkaStorageError, match=path):
        run(scene())
    assert part.releases == 1
    os.close(unreadable)
    file.close()


def test_range_is_read_in_pieces_where_sendfile_is_not_supported(
    run: Run, ends: Ends, stored: CountedSlice, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*_: int) -> int:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(os, "sendfile", unsupported)

    async def scene() -> bytes:
        writer = SocketWriter(ends[0], asyncio.get_running_loop(), SLICES)
        async with asyncio.TaskGroup() as group:
            arrived = group.create_task(received(ends[1], len(DATA)))
            await writer.send([stored])
        return arrived.result()

    assert run(scene()) == DATA
    assert max(stored.lengths) == PIECE_BYTES


class NotedTransport(asyncio.WriteTransport):
    """A transport that notes what is written, and pauses its writer after every write."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.writer: TransportWriter | None = None

    def write(self, data: Buffer) -> None:
        self.written.append(bytes(data))
        if self.writer is not None:
            self.writer.pause()


def test_transport_gets_a_range_in_pieces_each_when_it_has_room(
    run: Run, stored: CountedSlice
) -> None:
    transport = NotedTransport()
    steps: list[int] = []

    async def scene() -> None:
        loop = asyncio.get_running_loop()
        transport.writer = writer = TransportWriter(transport, loop, SLICES)
        sending = loop.create_task(writer.send([b"head", stored, memoryview(DATA)]))
        while not sending.done():
            await turn()
            steps.append(len(transport.written))
            writer.resume()
            await turn()

    run(scene())
    pieces = len(DATA) // PIECE_BYTES
    assert b"".join(transport.written) == b"head" + DATA + DATA
    assert steps[: 2 * pieces + 1] == list(range(1, 2 * pieces + 2))
    assert max(stored.lengths) == PIECE_BYTES
    assert stored.releases == 1


def test_other_tasks_have_a_turn_between_the_pieces(run: Run) -> None:
    transport = NotedTransport()
    seen: list[int] = []

    async def scene() -> None:
        loop = asyncio.get_running_loop()
        sending = loop.create_task(TransportWriter(transport, loop, SLICES).send([DATA]))
        while not sending.done():
            seen.append(len(transport.written))
            passed = loop.create_future()
            loop.call_soon(passed.set_result, None)
            await passed

    run(scene())
    steps = [after - before for before, after in itertools.pairwise(seen)]
    assert max(steps) == 1


class PatientSocket(socket.socket):
    """A socket whose kernel takes 10 bytes at a time, always."""

    def sendmsg(self, buffers: object, *_: object) -> int:
        assert isinstance(buffers, list)
        return min(10, sum(map(len, buffers)))


def test_response_to_a_fast_client_gives_other_connections_their_turns(run: Run) -> None:
    async def scene() -> int:
        turns, loop = 0, asyncio.get_running_loop()

        def begin_turn() -> None:
            nonlocal turns
            turns += 1
            loop.call_soon(begin_turn)

        with PatientSocket() as patient:
            writer = SocketWriter(patient, loop, SLICES)
            loop.call_soon(begin_turn)
            await writer.send([bytes(100)])
            return turns

    assert run(scene()) >= 9
