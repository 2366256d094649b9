"""Stream of the changes of the metadata and of the session (Kafka: `ControllerEventManager`).

    watch ──► its subject is read again, with new watches ──► events ──► next
    connection lost ──► all watches end ──► all subjects are read again

A subject that is followed reports itself once, and then each change. Several changes between two
readings may be one event; none is without one. At the end of the session nothing is followed any
more, and the last event is SessionExpired.
"""

import asyncio
from collections import deque

from cordwood.cluster.zookeeper.client.zookeeper_client import SessionState, ZooKeeperClient
from cordwood.cluster.zookeeper.client.zookeeper_errors import SessionExpiredError
from cordwood.cluster.zookeeper.store.metadata_event import (
    MetadataEvent,
    SessionConnected,
    SessionExpired,
    SessionSuspended,
)
from cordwood.cluster.zookeeper.store.retried_requests import RetriedRequests
from cordwood.cluster.zookeeper.store.watched_reads import WatchedReads
from cordwood.cluster.zookeeper.store.watched_subjects import SUBJECTS, Subject, WatchedSubject


class MetadataEvents:
    """The stream of one client, with one receiver."""

    def __init__(self, client: ZooKeeperClient) -> None:
        self._requests = RetriedRequests(client)
        self._followed = dict[Subject, WatchedSubject]()
        self._outdated = dict[Subject, WatchedSubject]()
        self._events = deque[MetadataEvent]()
        self._woken = asyncio.Event()
        client.listen(self._on_state)

    def follow(self, *subjects: Subject) -> None:
        """Report these subjects now, and each of their changes."""
        for subject in subjects:
            if subject not in self._followed:
                self._follow(subject)

    def unfollow(self, *subjects: Subject) -> None:
        """Report no further change of these subjects."""
        for subject in subjects:
            self._followed.pop(subject, None)
            self._outdated.pop(subject, None)

    async def next(self) -> MetadataEvent:
        """Wait for the next event. A cancelled wait loses none."""
        while not self._events:
            if self._outdated:
                await self._read(next(iter(self._outdated)))
            else:
                self._woken.clear()
                await self._woken.wait()
        return self._events.popleft()

    async def _read(self, subject: Subject) -> None:
        watched = self._outdated.pop(subject)
        try:
            events = await watched.read()
        except SessionExpiredError:
            return  # the listener reports it
        except BaseException:
            self._mark(subject, watched)
            raise
        if self._followed.get(subject) is watched:
            self._events.extend(events)

    def _follow(self, subject: Subject) -> None:
        def changed() -> None:
            self._mark(subject, watched)

        watched = SUBJECTS[subject](WatchedReads(self._requests, changed))
        self._followed[subject] = watched
        changed()

    def _mark(self, subject: Subject, watched: WatchedSubject) -> None:
        if self._followed.get(subject) is watched:
            self._outdated[subject] = watched
            self._woken.set()

    def _on_state(self, state: SessionState) -> None:
        if state is SessionState.EXPIRED:
            self._followed.clear()
            self._outdated.clear()
            self._events.append(SessionExpired())
        elif state is SessionState.CONNECTED:
            self._events.append(SessionConnected())
        else:
            self._events.append(SessionSuspended())
        self._woken.set()
