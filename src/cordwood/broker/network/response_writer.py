"""Writers of responses in bounded memory, for plain and TLS connections (Kafka: `NetworkSend`).

    SocketWriter       a duplicate of the connection's non-blocking socket: sendmsg for buffers and
                       short file ranges, sendfile for longer ones; works on both event loops
    TransportWriter    the loop's transport, for TLS: pieces of PIECE_BYTES, each when the transport
                       has room and other connections have had a turn

Chunks are sent in order, and each slice is released once. `send` returns when the kernel or the
transport has everything, so a slow client blocks its own connection only. File ranges that are not
in the page cache are read on the worker first (`slice_reader`).

An OSError of `send` is the client's: it has disconnected. An error of a file is reported to its
slice, which returns the error to raise.
"""

import asyncio
import errno
import os
import socket
from collections.abc import Sequence
from typing import Final, Protocol

from cordwood.broker.network.slice_reader import SliceReader, TruncatedSliceError
from cordwood.broker.pending_results import next_turn
from cordwood.core.binary import Buffer
from cordwood.core.ports import Slice
from cordwood.protocol.primitives import Chunk

#: The buffers that one sendmsg takes; POSIX guarantees 16, and a system may report none.
IOV_MAX: Final = max(16, os.sysconf("SC_IOV_MAX"))
#: File ranges up to this sum are read and sent with the buffers around them: the cost is that of
#: sendfile, and the client wakes once. A response never has more of files in memory.
READ_BYTES: Final = 16 * 1024
#: Delays the bytes before a file range, so that they share a packet with it, where supported.
_MORE: Final = getattr(socket, "MSG_MORE", 0)
#: The largest piece that is encrypted, or read into memory, at a time.
PIECE_BYTES: Final = 128 * 1024
#: The largest range that one sendfile sends, and that is loaded before it if it is not cached.
_SENDFILE_BYTES: Final = 1024 * 1024
#: Errors of sendfile that the socket has, next to those of ConnectionError.
_CLIENT_ERRORS: Final = frozenset(
    {
        *(errno.EHOSTUNREACH, errno.ENETDOWN, errno.ENETRESET, errno.ENETUNREACH, errno.ENOBUFS),
        *(errno.ENOMEM, errno.ENOTCONN, errno.ETIMEDOUT),
    }
)
#: The file system has no sendfile.
_NO_SENDFILE: Final = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})


class ResponseWriter(Protocol):
    """Writes the responses of one connection, one `send` at a time."""

    @property
    def sent_bytes(self) -> int:
        """The bytes that the kernel or the transport has taken so far."""

    async def send(self, chunks: Sequence[Chunk]) -> None:
        """Send all chunks and release all slices, also on an error or a cancellation.

        Raises OSError if the client has disconnected, the error of `Slice.fail` if a file cannot
        be read, and TruncatedSliceError if it has been truncated. The stream cannot be used after
        an error.
        """

    def close(self) -> None:
        """Close the writer; a `send` in progress fails. Closing again does nothing."""


class SocketWriter:
    """Writes to a duplicate of a socket that the event loop reads."""

    __slots__ = ("_loop", "_slices", "_socket", "_waiter", "sent_bytes")

    def __init__(
        self, duplicate: socket.socket, loop: asyncio.AbstractEventLoop, slices: SliceReader
    ) -> None:
        self._socket = duplicate
        self._loop = loop
        self._slices = slices
        self._waiter: asyncio.Future[None] | None = None
        self.sent_bytes = 0

    async def send(self, chunks: Sequence[Chunk]) -> None:
        try:
            await self._send(chunks)
        finally:
            release(chunks)

    async def _send(self, chunks: Sequence[Chunk]) -> None:
        buffers: list[memoryview] = []
        room = READ_BYTES
        for chunk in chunks:
            if isinstance(chunk, Buffer):
                buffers.append(memoryview(chunk))
            elif chunk.length <= room:
                room -= chunk.length
                buffers += await self._slices.read_all(chunk)
            else:
                await self._send_buffers(buffers, _MORE)
                buffers, room = [], READ_BYTES
                await self._send_file(chunk)
        await self._send_buffers(buffers, 0)

    async def _send_buffers(self, buffers: list[memoryview], flags: int) -> None:
        """Send buffers; other connections have a turn in between, also if the client is fast."""
        for start in range(0, len(buffers), IOV_MAX):
            run = buffers[start : start + IOV_MAX]
            while run:
                self._ensure_open()
                try:
                    sent = self._socket.sendmsg(run, (), flags)
                except BlockingIOError:
                    await self._until_writable()
                    continue
                self.sent_bytes += sent
                run = _after(run, sent)
                if run:
                    await next_turn()

    async def _send_file(self, part: Slice) -> None:
        sent = 0 if part.descriptor is None else await self._sendfile(part)
        while sent < part.length:
            length = min(PIECE_BYTES, part.length - sent)
            piece = await self._slices.read(part, sent, length=length)
            await self._send_buffers([piece], _MORE)
            sent += len(piece)

    async def _sendfile(self, part: Slice) -> int:
        """Return the number of sent bytes: all, or none if the file system has no sendfile."""
        sent = 0
        while sent < part.length:
            wanted = min(part.length - sent, _SENDFILE_BYTES)
            await self._slices.load(part, sent, length=wanted)
            descriptor = part.descriptor
            assert descriptor is not None
            try:
                count = os.sendfile(self._socket.fileno(), descriptor, part.position + sent, wanted)
            except BlockingIOError:
                await self._until_writable()
                continue
            except OSError as error:
                if self._is_of_client(error):
                    raise
                if error.errno in _NO_SENDFILE:
                    break
                raise part.fail(error) from error
            if count == 0:
                raise TruncatedSliceError(part.length - sent)
            sent += count
            self.sent_bytes += count
            if sent < part.length:
                await next_turn()
        return sent

    def _is_of_client(self, error: OSError) -> bool:
        """Return whether an error of sendfile is one of the socket."""
        is_closed = self._socket.fileno() < 0
        return is_closed or isinstance(error, ConnectionError) or error.errno in _CLIENT_ERRORS

    async def _until_writable(self) -> None:
        self._waiter = waiter = self._loop.create_future()
        self._loop.add_writer(self._socket, wake, waiter)
        try:
            await waiter
        finally:
            self._waiter = None
            if self._socket.fileno() >= 0:
                self._loop.remove_writer(self._socket)
        self._ensure_open()  # the error in the future would refer to itself by this frame

    def _ensure_open(self) -> None:
        """Raise once the writer is closed, which may be in another turn of the loop."""
        if self._socket.fileno() < 0:
            raise ConnectionAbortedError("the connection was closed")

    def close(self) -> None:
        if self._waiter is not None:
            self._loop.remove_writer(self._socket)
            wake(self._waiter)
        self._socket.close()


class TransportWriter:
    """Writes through a transport, which pauses and resumes the writer."""

    __slots__ = (
        "_is_closed",
        "_is_paused",
        "_loop",
        "_slices",
        "_transport",
        "_waiter",
        "sent_bytes",
    )

    def __init__(
        self,
        transport: asyncio.WriteTransport,
        loop: asyncio.AbstractEventLoop,
        slices: SliceReader,
    ) -> None:
        self._transport = transport
        self._loop = loop
        self._slices = slices
        self._waiter: asyncio.Future[None] | None = None
        self._is_paused = False
        self._is_closed = False
        self.sent_bytes = 0

    async def send(self, chunks: Sequence[Chunk]) -> None:
        try:
            for chunk in chunks:
                if isinstance(chunk, Buffer):
                    await self._write_buffer(memoryview(chunk))
                else:
                    await self._write_slice(chunk)
            await self._until_resumed()
        finally:
            release(chunks)

    async def _write_buffer(self, buffer: memoryview) -> None:
        for at in range(0, len(buffer), PIECE_BYTES):
            await self._write(buffer[at : at + PIECE_BYTES])

    async def _write_slice(self, part: Slice) -> None:
        at = 0
        while at < part.length:
            length = min(PIECE_BYTES, part.length - at)
            piece = await self._slices.read(part, at, length=length)
            await self._write(piece)
            at += len(piece)

    async def _write(self, piece: memoryview) -> None:
        """Encrypt and send a piece; after a large one, other connections have a turn."""
        await self._until_resumed()
        self._transport.write(piece)
        self.sent_bytes += len(piece)
        if len(piece) == PIECE_BYTES:
            turn = self._loop.create_future()
            self._loop.call_soon(wake, turn)
            await turn

    async def _until_resumed(self) -> None:
        if self._is_paused and not self._is_closed:
            self._waiter = self._loop.create_future()
            await self._waiter
        if self._is_closed:
            raise ConnectionAbortedError("the connection was closed")

    def pause(self) -> None:
        """Pause: the transport's buffer is full."""
        self._is_paused = True

    def resume(self) -> None:
        """Resume: the transport's buffer has room."""
        self._is_paused = False
        wake(self._waiter)

    def close(self) -> None:
        self._is_closed = True
        wake(self._waiter)


def release(chunks: Sequence[Chunk]) -> None:
    """Release the slices of a response that has been sent or will not be sent."""
    for chunk in chunks:
        if not isinstance(chunk, Buffer):
            chunk.release()


def _after(buffers: Sequence[memoryview], sent: int) -> list[memoryview]:
    """Return the rest of the buffers after `sent` bytes."""
    for index, buffer in enumerate(buffers):
        if sent < len(buffer):
            return [buffer[sent:], *buffers[index + 1 :]]
        sent -= len(buffer)
    return []


def wake(waiter: asyncio.Future[None] | None) -> None:
    """Complete a future, unless it is None, done or cancelled."""
    if waiter is not None and not waiter.done():
        waiter.set_result(None)
