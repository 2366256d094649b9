"""Reads of file ranges for responses, without blocking the event loop (Kafka: `FileRecords`).

Bytes in the page cache are read on the loop. Other bytes are read on the worker, since the disk may
take long. An error of the file is reported to the slice: it concerns the disk of a log, and not the
client that receives the response.
"""

from functools import partial

from cordwood.broker.pending_results import wait_for
from cordwood.core.errors import CordwoodError
from cordwood.core.ports import Lane, Slice, Worker


class TruncatedSliceError(CordwoodError):
    """A file has been truncated while a range of it was being sent."""

    def __init__(self, missing: int) -> None:
        super().__init__(f"the file has been truncated ({missing} bytes are missing)")


class SliceReader:
    """Reads slices for all connections. Each call raises what `Slice.fail` returns for an OSError.

    A slice may be released while it is read; its caller has been cancelled then.
    """

    __slots__ = ("_worker",)

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    async def read(self, part: Slice, start: int, *, length: int) -> memoryview:
        """Return at least one byte from `start`, and at most `length`.

        Raises TruncatedSliceError at the end of a truncated file.
        """
        try:
            data = part.read_cached(start, length)
        except OSError as error:
            raise part.fail(error) from error
        return data or await self._read_on_worker(part, start, length)

    async def read_all(self, part: Slice) -> list[memoryview]:
        """Return all bytes of a slice, in order."""
        pieces: list[memoryview] = []
        at = 0
        while at < part.length:
            pieces.append(await self.read(part, at, length=part.length - at))
            at += len(pieces[-1])
        return pieces

    async def load(self, part: Slice, start: int, *, length: int) -> None:
        """Return when the page cache has the first and the last byte, and so probably all bytes."""
        try:
            if part.read_cached(start, 1) and part.read_cached(start + length - 1, 1):
                return
        except OSError as error:
            raise part.fail(error) from error
        await self._read_on_worker(part, start, length)

    async def _read_on_worker(self, part: Slice, start: int, length: int) -> memoryview:
        try:
            data = await wait_for(
                self._worker.submit(partial(part.read, start, length), lane=Lane.READ)
            )
        except OSError as error:
            raise part.fail(error) from error
        if not data:
            raise TruncatedSliceError(part.length - start)
        return data
