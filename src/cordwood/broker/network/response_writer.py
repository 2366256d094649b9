"""Writers of responses in bounded memory, for plain and TLS connections (Kafka: `NetworkSend`).

    SocketWriter       a duplicate of the connection's non-blocking socket: sendmsg for buffers and
                       short file ranges, sendfile for longer ones; works on both event loops
    TransportWriter    the loop's transport, for TLS: the next chunk when the last one has left

Chunks are sent in order, and each slice is released once. `send` returns when the kernel or the
transport has everything, so a slow client blocks its own connection only.
"""

import asyncio
import os
import socket
from collections.abc import Sequence
from typing import Final, Protocol

from cordwood.core.binary import Buffer
from cordwood.core.errors import CordwoodError
from cordwood.core.ports import Slice
from cordwood.protocol.primitives import Chunk

#: The buffers that one sendmsg takes; POSIX guarantees 16, and a system may report none.
IOV_MAX: Final = max(16, os.sysconf("SC_IOV_MAX"))
#: File ranges up to this sum are read and sent with the buffers around them: the cost is that of
#: sendfile, and the client wakes once. A response never has more of files in memory.
READ_BYTES: Final = 16 * 1024
#: Delays the bytes before a file range, so that they share a packet with it, where supported.
_MORE: Final = getattr(socket, "MSG_MORE", 0)


class TruncatedSliceError(CordwoodError):
    """A file has been truncated while a range of it was being sent."""


class ResponseWriter(Protocol):
    """Writes the responses of one connection, one `send` at a time."""

    async def send(self, chunks: Sequence[Chunk]) -> None:
        """Send all chunks and release all slices, also on an error or a cancellation.

        Raises OSError if the client has disconnected, and TruncatedSliceError if a file has been
        truncated. The stream cannot be used after an error.
        """

    def close(self) -> None:
        """Close the writer; a `send` in progress fails. Closing again does nothing."""


class SocketWriter:
    """Writes to a duplicate of a socket that the event loop reads."""

    __slots__ = ("_loop", "_socket", "_waiter")

    def __init__(self, duplicate: socket.socket, loop: asyncio.AbstractEventLoop) -> None:
        self._socket = duplicate
        self._loop = loop
        self._waiter: asyncio.Future[None] | None = None

    async def send(self, chunks: Sequence[Chunk]) -> None:
        try:
            await self._send(chunks)
        finally:
            release(chunks)

    async def _send(self, chunks: Sequence[Chunk]) -> None:
        buffers: list[memoryview] = []
        room = READ_BYTES
        for chunk in chunks:
            if isinstance(chunk, Buffer) or chunk.descriptor is None:
                buffers.append(_bytes_of(chunk))
            elif chunk.length <= room:
                buffers.append(_bytes_of(chunk))
                room -= chunk.length
            else:
                await self._send_buffers(buffers, _MORE)
                buffers, room = [], READ_BYTES
                await self._send_file(chunk)
        await self._send_buffers(buffers, 0)

    async def _send_buffers(self, buffers: list[memoryview], flags: int) -> None:
        for start in range(0, len(buffers), IOV_MAX):
            run = buffers[start : start + IOV_MAX]
            while run:
                try:
                    sent = self._socket.sendmsg(run, (), flags)
                except BlockingIOError:
                    await self._until_writable()
                else:
                    run = _after(run, sent)

    async def _send_file(self, part: Slice) -> None:
        position, end = part.position, part.position + part.length
        while position < end:
            descriptor = part.descriptor
            assert descriptor is not None
            try:
                sent = os.sendfile(self._socket.fileno(), descriptor, position, end - position)
            except BlockingIOError:
                await self._until_writable()
            else:
                if sent == 0:
                    raise TruncatedSliceError(
                        f"the file has been truncated ({end - position} bytes are missing)"
                    )
                position += sent

    async def _until_writable(self) -> None:
        self._waiter = waiter = self._loop.create_future()
        self._loop.add_writer(self._socket, wake, waiter)
        try:
            await waiter
        finally:
            self._waiter = None
            if self._socket.fileno() >= 0:
                self._loop.remove_writer(self._socket)

    def close(self) -> None:
        if self._waiter is not None:
            self._loop.remove_writer(self._socket)
            if not self._waiter.done():
                self._waiter.set_exception(ConnectionAbortedError("the connection was closed"))
        self._socket.close()


class TransportWriter:
    """Writes through a transport, which pauses and resumes the writer."""

    __slots__ = ("_is_closed", "_is_paused", "_loop", "_transport", "_waiter")

    def __init__(self, transport: asyncio.WriteTransport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._waiter: asyncio.Future[None] | None = None
        self._is_paused = False
        self._is_closed = False

    async def send(self, chunks: Sequence[Chunk]) -> None:
        try:
            for chunk in chunks:
                await self._until_resumed()
                self._transport.write(_bytes_of(chunk))
            await self._until_resumed()
        finally:
            release(chunks)

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


def _bytes_of(chunk: Chunk) -> memoryview:
    if isinstance(chunk, Buffer):
        return memoryview(chunk)
    data = chunk.read()
    if len(data) < chunk.length:
        missing = chunk.length - len(data)
        raise TruncatedSliceError(f"the file has been truncated ({missing} bytes are missing)")
    return data


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
