"""Events that wait for the flow in progress (Kafka: `ControllerEventManager`, bounded).

An event of the store carries no state, or the latest one. So each kind waits once per subject, at
the place of the first, and its flow reads all changes. Answers are limited in number: the queues of
brokers wait beyond that. A submission has a caller that waits for it.
"""

import asyncio
from collections.abc import Hashable
from typing import Final

from cordwood.cluster.active_controller.broker_request_queue import BrokerAnswer
from cordwood.cluster.active_controller.controller_events import (
    ControllerEvent,
    Resignation,
    Submission,
)
from cordwood.cluster.zookeeper.store.metadata_event import (
    BrokerModified,
    ControllerChanged,
    IsrChangesNotified,
    LogDirFailuresNotified,
    SessionExpired,
)

#: Answers that wait at most.
MOST_ANSWERS: Final = 1_000

_KEPT: Final = (ControllerChanged, SessionExpired)


class ControllerEventQueue:
    """The events in the order of their flows."""

    def __init__(self) -> None:
        self._waiting = dict[Hashable, ControllerEvent]()
        self._room = asyncio.Semaphore(MOST_ANSWERS)
        self._woken = asyncio.Event()

    def put(self, event: ControllerEvent) -> None:
        """Add an event, or merge it with the one of its kind that waits."""
        key = _key(event)
        self._waiting[key] = _merged(self._waiting.get(key), event)
        self._woken.set()

    async def put_answer(self, answer: BrokerAnswer) -> None:
        """Add an answer as soon as there is room."""
        await self._room.acquire()
        self.put(answer)

    async def next(self) -> ControllerEvent:
        """Wait for the first event, and remove it."""
        while not self._waiting:
            self._woken.clear()
            await self._woken.wait()
        event = self._waiting.pop(next(iter(self._waiting)))
        if isinstance(event, BrokerAnswer):
            self._room.release()
        return event

    def drop_of_role(self) -> list[Submission | Resignation]:
        """Remove all events of a role that has ended; return those that have a caller."""
        dropped, self._waiting = self._waiting, {}
        callers = list[Submission | Resignation]()
        for key, event in dropped.items():
            if isinstance(event, BrokerAnswer):
                self._room.release()
            elif isinstance(event, Submission | Resignation):
                callers.append(event)
            elif isinstance(event, _KEPT):
                self._waiting[key] = event
        return callers


def _key(event: ControllerEvent) -> Hashable:
    if isinstance(event, BrokerModified):
        return BrokerModified, event.broker.broker_id
    if isinstance(event, ControllerChanged | IsrChangesNotified | LogDirFailuresNotified):
        return type(event).__name__
    return event


def _merged(waiting: ControllerEvent | None, event: ControllerEvent) -> ControllerEvent:
    """Return an event with what the waiting one of its kind contains."""
    if isinstance(event, IsrChangesNotified) and isinstance(waiting, IsrChangesNotified):
        partitions = dict.fromkeys((*waiting.partitions, *event.partitions))
        return IsrChangesNotified((*partitions,), waiting.numbers + event.numbers)
    if isinstance(event, LogDirFailuresNotified) and isinstance(waiting, LogDirFailuresNotified):
        brokers = dict.fromkeys((*waiting.broker_ids, *event.broker_ids))
        return LogDirFailuresNotified((*brokers,), waiting.numbers + event.numbers)
    return event
