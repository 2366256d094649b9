"""Requests that wait for the answer of a shard, by their tickets."""

import asyncio
from itertools import count

from cordwood.coordination.outcome import Answer, Ticket
from cordwood.core.errors import KafkaError
from cordwood.protocol.schema import Response


class WaitingCalls:
    """The requests of one loaded shard. The answer of a request that has gone is dropped."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._waiting: dict[Ticket, asyncio.Future[Response]] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def begin(self) -> tuple[Ticket, asyncio.Future[Response]]:
        """Return a new ticket, and the future of its answer."""
        ticket = Ticket(next(self._numbers))
        future = self._waiting[ticket] = asyncio.get_running_loop().create_future()
        return ticket, future

    def give(self, answer: Answer) -> None:
        """Give an answer to its request, if it still waits."""
        future = self._waiting.pop(answer.ticket, None)
        if future is None or future.done():
            return
        if isinstance(answer.response, KafkaError):
            future.set_exception(answer.response)
        else:
            future.set_result(answer.response)

    def end(self, ticket: Ticket) -> None:
        """Forget a request that does not wait any more."""
        self._waiting.pop(ticket, None)

    def fail(self, error: KafkaError) -> None:
        """Give an error to all requests that wait."""
        for ticket in tuple(self._waiting):
            self.give(Answer(ticket, error))
