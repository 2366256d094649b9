"""How answers leave: chunks in their order, each slice released once, memory never growing.

    SocketWriter       its own descriptor of the connection's socket, non-blocking: sendmsg for
                       buffers and short ranges of files, sendfile for longer ones. Both event
                       loops can wait for it.
    TransportWriter    the loop's transport, for TLS: piece by piece, each as the last has gone.

Whoever sends waits until the kernel, or the transport, has everything. A slow reader so holds up
its own connection and nothing else.
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

#: How many buffers one sendmsg takes; POSIX promises 16, and a system may not say.
IOV_MAX: Final = max(16, os.sysconf("SC_IOV_MAX"))
#: So much of files is read, to leave with what is around it: that costs no more than sendfile, and
#: a reader is woken once. It is all that an answer has in memory at a time.
READ_BYTES: Final = 16 * 1024
#: Holds a frame's head back until the range that follows, where the system can.
_MORE: Final = getattr(socket, "MSG_MORE", 0)


class TruncatedSliceError(CordwoodError):
    """A range of a file is no longer there in full, and its frame has been begun."""


class Writer(Protocol):
    """The way out of one connection. One `send` at a time."""

    async def send(self, chunks: Sequence[Chunk]) -> None:
        """Send everything and release every slice, be it that something fails or is cancelled.

        OSError when the peer has gone, TruncatedSliceError when a file has been cut meanwhile: the
        stream is of no use then.
        """

    def close(self) -> None:
        """Send no more; a `send` under way fails. Closing again does nothing."""


class SocketWriter:
    """Writes to a socket that is read elsewhere, through a descriptor of its own."""

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
                    raise TruncatedSliceError(f"{end - position} bytes of a file have gone")
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
    """Writes through a transport, which says when it has enough and when it wants more."""

    __slots__ = ("_is_closed", "_is_full", "_loop", "_transport", "_waiter")

    def __init__(self, transport: asyncio.WriteTransport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._waiter: asyncio.Future[None] | None = None
        self._is_full = False
        self._is_closed = False

    async def send(self, chunks: Sequence[Chunk]) -> None:
        try:
            for chunk in chunks:
                await self._until_wanted()
                self._transport.write(_bytes_of(chunk))
            await self._until_wanted()
        finally:
            release(chunks)

    async def _until_wanted(self) -> None:
        if self._is_full and not self._is_closed:
            self._waiter = self._loop.create_future()
            await self._waiter
        if self._is_closed:
            raise ConnectionAbortedError("the connection was closed")

    def pause(self) -> None:
        """Wait, as the transport has enough."""
        self._is_full = True

    def resume(self) -> None:
        """Go on, as the transport wants more."""
        self._is_full = False
        wake(self._waiter)

    def close(self) -> None:
        self._is_closed = True
        wake(self._waiter)


def release(chunks: Sequence[Chunk]) -> None:
    """Let go of the files of an answer that has been sent, or will not be."""
    for chunk in chunks:
        if not isinstance(chunk, Buffer):
            chunk.release()


def _bytes_of(chunk: Chunk) -> memoryview:
    if isinstance(chunk, Buffer):
        return memoryview(chunk)
    data = chunk.read()
    if len(data) < chunk.length:
        raise TruncatedSliceError(f"{chunk.length - len(data)} bytes of a file have gone")
    return data


def _after(buffers: Sequence[memoryview], sent: int) -> list[memoryview]:
    """Return what is left of buffers of which so many bytes have been sent."""
    for index, buffer in enumerate(buffers):
        if sent < len(buffer):
            return [buffer[sent:], *buffers[index + 1 :]]
        sent -= len(buffer)
    return []


def wake(waiter: asyncio.Future[None] | None) -> None:
    """Let who waits go on, if somebody does and has not been told or cancelled."""
    if waiter is not None and not waiter.done():
        waiter.set_result(None)
