"""Tests of the events that wait for the controller."""

import asyncio

from cordwood.cluster.active_controller.broker_request_queue import BrokerAnswer
from cordwood.cluster.active_controller.controller_event_queue import (
    MOST_ANSWERS,
    ControllerEventQueue,
)
from cordwood.cluster.active_controller.controller_events import (
    ControllerEvent,
    ProducerIdsWanted,
    RebalanceDue,
    Submission,
)
from cordwood.cluster.zookeeper.store.metadata_event import (
    BrokerModified,
    BrokersChanged,
    ControllerChanged,
    IsrChangesNotified,
    LogDirFailuresNotified,
    PartitionsChanged,
    SessionExpired,
    TopicsChanged,
)
from cordwood.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from tests.unit.cluster.controller.controller_samples import live_broker
from tests.unit.cluster.controller.store_model import partition


def answer() -> BrokerAnswer:
    request = StopReplicaRequest(controller_id=1, controller_epoch=1)
    return BrokerAnswer(2, request, StopReplicaResponse(error_code=0, partition_errors=[]))


async def taken(queue: ControllerEventQueue, count: int) -> list[ControllerEvent]:
    return [await queue.next() for _ in range(count)]


def test_events_of_one_kind_wait_once() -> None:
    async def scene() -> None:
        queue = ControllerEventQueue()
        for each in (BrokersChanged(), TopicsChanged(), BrokersChanged(), RebalanceDue()):
            queue.put(each)
        queue.put(PartitionsChanged("a"))
        queue.put(PartitionsChanged("b"))

        assert await taken(queue, 5) == [
            BrokersChanged(),
            TopicsChanged(),
            RebalanceDue(),
            PartitionsChanged("a"),
            PartitionsChanged("b"),
        ]

    asyncio.run(scene())


def test_events_with_a_state_are_merged() -> None:
    async def scene() -> None:
        queue, other = ControllerEventQueue(), partition("orders-1")
        latest = live_broker(1)._replace(rack="b")
        for each in (live_broker(1), live_broker(2), latest):
            queue.put(BrokerModified(each))
        queue.put(IsrChangesNotified((partition("orders-0"),), (1,)))
        queue.put(IsrChangesNotified((other, partition("orders-0")), (2, 3)))
        queue.put(LogDirFailuresNotified((1,), (4,)))
        queue.put(LogDirFailuresNotified((1, 2), (5,)))
        queue.put(ControllerChanged(1))
        queue.put(ControllerChanged(None))

        assert await taken(queue, 5) == [
            BrokerModified(latest),
            BrokerModified(live_broker(2)),
            IsrChangesNotified((partition("orders-0"), other), (1, 2, 3)),
            LogDirFailuresNotified((1, 2), (4, 5)),
            ControllerChanged(None),
        ]

    asyncio.run(scene())


def test_answers_wait_for_room() -> None:
    async def scene() -> None:
        queue = ControllerEventQueue()
        for _ in range(MOST_ANSWERS):
            await queue.put_answer(answer())
        late = asyncio.ensure_future(queue.put_answer(answer()))
        await asyncio.wait([late], timeout=0)
        assert not late.done()

        await queue.next()
        await late

        assert len(await taken(queue, MOST_ANSWERS)) == MOST_ANSWERS

    asyncio.run(scene())


def test_end_of_a_role_drops_its_events_and_returns_the_callers() -> None:
    async def scene() -> None:
        queue = ControllerEventQueue()
        response = asyncio.get_running_loop().create_future()
        submission = Submission(ProducerIdsWanted(1, 2), 0, response)
        for each in (TopicsChanged(), submission, ControllerChanged(2), SessionExpired()):
            queue.put(each)
        for _ in range(MOST_ANSWERS):
            await queue.put_answer(answer())

        assert queue.drop_of_role() == [submission]

        await queue.put_answer(answer())
        kept = await taken(queue, 3)
        assert kept[:2] == [ControllerChanged(2), SessionExpired()]

    asyncio.run(scene())


def test_next_waits_for_an_event() -> None:
    async def scene() -> None:
        queue = ControllerEventQueue()
        waiting = asyncio.ensure_future(queue.next())
        await asyncio.wait([waiting], timeout=0)
        queue.put(TopicsChanged())

        assert await waiting == TopicsChanged()

    asyncio.run(scene())
