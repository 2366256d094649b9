"""Fan-out of the stream of changes: to the queue of the controller, and to the broker.

Kafka: the watches of `KafkaController` and of `ZkConfigManager`, which have one client as well.

The controller and the configurations are followed in every session, all other subjects by the
controller alone. A subject of the controller is followed before its first reading, so a change is
in the reading, or is reported after it.
"""

import asyncio
from collections.abc import Callable
from types import MappingProxyType
from typing import Final

from cordwood.client.network.runtime import ClientRuntime
from cordwood.cluster.active_controller.controller_host import ControllerHost, ProcessingFailed
from cordwood.cluster.zookeeper.client.zookeeper_errors import SessionExpiredError, ZooKeeperError
from cordwood.cluster.zookeeper.store.metadata_event import (
    BrokersChanged,
    ConfigChanged,
    ControllerChanged,
    MetadataDamaged,
    MetadataEvent,
    SessionConnected,
    SessionExpired,
    SessionSuspended,
    TopicsChanged,
)
from cordwood.cluster.zookeeper.store.metadata_events import MetadataEvents
from cordwood.cluster.zookeeper.store.watched_subjects import Subject
from cordwood.core.errors import DamagedFileError

ERROR_BACKOFF_MS: Final = 1_000

#: Subjects with a state of their own: their changes are counted from their first event on.
_FIRST_EVENTS: Final = MappingProxyType(
    {BrokersChanged: Subject.BROKERS, TopicsChanged: Subject.TOPICS}
)
_OF_THE_BROKER: Final = (ConfigChanged, SessionConnected, SessionSuspended, SessionExpired)


class MetadataFanOut:
    """Reads the stream in its task, `run`; `on_event` gets the events of the controller."""

    def __init__(
        self,
        events: MetadataEvents,
        runtime: ClientRuntime,
        *,
        host: ControllerHost,
        on_event: Callable[[MetadataEvent], object],
    ) -> None:
        self._events = events
        self._runtime = runtime
        self._host = host
        self._on_event = on_event
        self._controller_id: int | None = None
        self._first = dict[Subject, asyncio.Future[None]]()

    def begin_session(self) -> None:
        """Follow the subjects of every broker."""
        self._events.follow(Subject.CONTROLLER, Subject.CONFIGS)

    async def follow(self, subject: Subject) -> None:
        """Follow a subject; return once its first reading has left watches."""
        if subject not in _FIRST_EVENTS.values():
            self._events.follow(subject)
            return
        if subject not in self._first:
            self._first[subject] = asyncio.get_running_loop().create_future()
            self._events.follow(subject)
        await asyncio.shield(self._first[subject])

    def unfollow_all(self) -> None:
        """Follow no subject of the controller any more."""
        self._events.unfollow(*(set(Subject) - {Subject.CONTROLLER, Subject.CONFIGS}))
        self._first.clear()

    async def run(self) -> None:
        """Pass events on until the task is cancelled."""
        while True:
            try:
                event = await self._events.next()
            except (DamagedFileError, ZooKeeperError) as error:
                self._host.on_report(ProcessingFailed("a reading of the metadata", error))
                await self._runtime.sleep_ms(ERROR_BACKOFF_MS)
            else:
                self._pass_on(event)

    def _pass_on(self, event: MetadataEvent) -> None:
        if isinstance(event, MetadataDamaged):
            self._host.on_report(ProcessingFailed("a reading of the metadata", event.error))
            return
        first = self._first.get(_FIRST_EVENTS.get(type(event), Subject.CONFIGS))
        if first is not None and not first.done():
            first.set_result(None)
        if isinstance(event, SessionExpired):
            self._fail_waiting()
            self._set_controller(None)
        elif isinstance(event, ControllerChanged):
            self._set_controller(event.controller_id)
        if not isinstance(event, ConfigChanged | SessionConnected | SessionSuspended):
            self._on_event(event)
        if isinstance(event, _OF_THE_BROKER):
            self._host.on_event(event)

    def _set_controller(self, controller_id: int | None) -> None:
        if controller_id != self._controller_id:
            self._controller_id = controller_id
            self._host.on_controller_changed(controller_id)

    def _fail_waiting(self) -> None:
        for first in self._first.values():
            if not first.done():
                first.set_exception(SessionExpiredError())
                first.exception()  # marks it retrieved: the flow may be gone
