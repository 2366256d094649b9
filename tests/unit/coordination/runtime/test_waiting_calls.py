"""Tests of requests that wait for the answer of a shard."""

import pytest

from cordwood.coordination.outcome import Answer, Ticket
from cordwood.coordination.runtime.waiting_calls import WaitingCalls
from cordwood.core.errors import NotCoordinatorError
from cordwood.protocol.messages.heartbeat import HeartbeatResponse
from cordwood.protocol.schema import Response
from tests.unit.broker.broker_samples import run


def test_request_gets_its_answer_once() -> None:
    async def scene() -> tuple[Response, int]:
        calls = WaitingCalls()
        ticket, future = calls.begin()
        calls.give(Answer(ticket, HeartbeatResponse(error_code=27)))
        calls.give(Answer(ticket, HeartbeatResponse(error_code=0)))
        return future.result(), len(calls)

    assert run(scene()) == (HeartbeatResponse(error_code=27), 0)


def test_error_is_raised_by_the_request() -> None:
    async def scene() -> None:
        calls = WaitingCalls()
        _, future = calls.begin()
        calls.fail(NotCoordinatorError("moved"))
        await future

    with pytest.raises(NotCoordinatorError, match="moved"):
        run(scene())


def test_answer_of_a_request_that_has_gone_is_dropped() -> None:
    async def scene() -> int:
        calls = WaitingCalls()
        ticket, _ = calls.begin()
        calls.end(ticket)
        calls.give(Answer(ticket, HeartbeatResponse(error_code=0)))
        calls.give(Answer(Ticket(99), HeartbeatResponse(error_code=0)))
        return len(calls)

    assert run(scene()) == 0
