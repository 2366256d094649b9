"""Requests and responses with many elements, decoded and encoded on the worker (Kafka: none).

A message with ELEMENTS_PER_TURN elements takes about 1 ms of the event loop. The loop gives up a
larger one at the list that exceeds the limit, and the worker starts again.

The objects of a request take up to a hundred times the memory of its bytes. So a request has
MOST_ELEMENTS at most, and AT_A_TIME large ones are handled at a time; the others wait. Meanwhile,
and while a large response is encoded, the garbage collector makes no full collection: it would
visit all these objects, which form no cycles, while all threads wait.

The controller sends the state of all partitions in one request, so the limit between brokers is
higher: MOST_BETWEEN_BROKERS.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Final, TypeVar

from cordwood.broker.full_collections import without_full_collections
from cordwood.broker.pending_results import wait_for
from cordwood.core.binary import Buffer
from cordwood.core.errors import BytesError
from cordwood.core.ports import Lane, Pending, Worker
from cordwood.protocol.apis import api_of
from cordwood.protocol.codec import decode, encode
from cordwood.protocol.primitives import Chunk, ElementLimitError
from cordwood.protocol.schema import Request, Response

R = TypeVar("R", bound=Request)
T = TypeVar("T")

ELEMENTS_PER_TURN: Final = 1_000
#: Five times the partitions of a large broker. The release of this many objects takes up to 40 ms,
#: in which the interpreter runs nothing else.
MOST_ELEMENTS: Final = 50_000
#: Those of 28,000 partitions with three replicas in an update of the metadata.
MOST_BETWEEN_BROKERS: Final = 200_000
AT_A_TIME: Final = 4


def decode_small(  # tidy: allow[positional] as codec.decode
    kind: type[R], body: memoryview, version: int
) -> R | None:
    """Decode a request on the loop; return None if it is large. BytesError for an invalid body."""
    try:
        return decode(kind, body, version, most=ELEMENTS_PER_TURN)
    except ElementLimitError:
        return None


def encode_small(response: Response, version: int) -> list[Chunk] | None:
    """Encode a response on the loop; return None if it is large."""
    try:
        return encode(response, version, most=ELEMENTS_PER_TURN)
    except ElementLimitError:
        return None


def begin_encoding(response: Response, version: int, *, worker: Worker) -> Pending[list[Chunk]]:
    """Encode a large response on the worker."""
    return worker.submit(partial(encode, response, version), lane=Lane.COMPUTE)


class LargeMessages:
    """The large messages of one broker; `call_soon` runs a call on the loop's thread."""

    __slots__ = ("_call_soon", "_slots", "_worker")

    def __init__(self, worker: Worker, call_soon: Callable[[Callable[[], object]], object]) -> None:
        self._worker = worker
        self._call_soon = call_soon
        self._slots = asyncio.Semaphore(AT_A_TIME)

    @asynccontextmanager
    async def request(  # tidy: allow[positional] as codec.decode
        self, kind: type[R], body: memoryview, version: int
    ) -> AsyncIterator[R]:
        """Decode a large request on the worker, when it is its turn, for the block.

        Raises BytesError for an invalid body, and for too many elements.
        """
        async with self._slots:
            with without_full_collections():
                yield await self._decode(kind, body, version)

    async def run(self, call: Callable[[], T]) -> T:
        """Run a call about a large request on the worker, and return its result."""
        return await wait_for(self._worker.submit(call, lane=Lane.COMPUTE))

    async def _decode(self, kind: type[R], body: memoryview, version: int) -> R:
        key = kind.__schema__.api_key
        assert key is not None, "a request belongs to an API"
        most = MOST_BETWEEN_BROKERS if api_of(key).is_between_brokers else MOST_ELEMENTS
        call = partial(decode, kind, body, version, most=most)
        try:
            return await self.run(call)
        except ElementLimitError as error:
            raise BytesError(
                "the elements of all lists", position=0, expected=f"at most {most}",
                found="more",
            ) from error  # fmt: skip

    async def encode(self, response: Response, version: int) -> list[Chunk]:
        """Encode a large response. After a cancellation the slices of a response are released."""
        with without_full_collections():
            encoding = begin_encoding(response, version, worker=self._worker)
            try:
                return await wait_for(encoding)
            except asyncio.CancelledError:
                encoding.add_done_callback(self._release)
                raise

    def _release(self, pending: Pending[Sequence[Chunk]]) -> None:
        if pending.exception() is None:
            self._call_soon(partial(_release, pending.result()))


def _release(chunks: Sequence[Chunk]) -> None:
    for chunk in chunks:
        if not isinstance(chunk, Buffer):
            chunk.release()
