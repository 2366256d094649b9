"""Topics whose logs are being created or deleted, while other changes of the metadata go on.

    created    the name exists for other requests, though the topic is not published yet
    grown      the topic is published; its new partitions are not
    deleted    the topic is not published any more; its directories may still have their names

A request that must not overlap with such work waits for its end.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from enum import Enum

from cordwood.broker.metadata.metadata_image import TopicImage


class TopicWork(Enum):
    """The work on a topic's logs."""

    CREATION = "creation"
    GROWTH = "growth"
    DELETION = "deletion"


@dataclass(frozen=True, slots=True, eq=False)
class _BusyTopic:
    topic: TopicImage
    work: TopicWork
    ended: asyncio.Event = field(default_factory=asyncio.Event)


class BusyTopics:
    """The busy topics by name; a topic has one work at a time."""

    def __init__(self) -> None:
        self._busy: dict[str, _BusyTopic] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._busy

    def begin(self, topics: Iterable[TopicImage], work: TopicWork) -> AbstractContextManager[None]:
        """Mark topics as busy from now on, until the end of the returned block."""
        held = {topic.name: _BusyTopic(topic, work) for topic in topics}
        assert not held.keys() & self._busy.keys(), "a topic has one work at a time"
        self._busy |= held
        return self._ending(held)

    @contextmanager
    def _ending(self, held: Mapping[str, _BusyTopic]) -> Iterator[None]:
        try:
            yield
        finally:
            for name, busy in held.items():
                del self._busy[name]
                busy.ended.set()

    def created(self) -> list[str]:
        """Return the names of the topics in creation."""
        return [name for name, busy in self._busy.items() if busy.work is TopicWork.CREATION]

    def named(self, names: Iterable[str], *works: TopicWork) -> asyncio.Event | None:
        """Return the end of a work on one of these topics, None if none of them is busy.

        Of the given kinds of `works` only, if there are any.
        """
        for name in names:
            busy = self._busy.get(name)
            if busy is not None and (not works or busy.work in works):
                return busy.ended
        return None

    def with_ids(self, topic_ids: Iterable[bytes]) -> list[str]:
        """Return the names of the busy topics that have one of these ids."""
        wanted = {*topic_ids}
        return [name for name, busy in self._busy.items() if busy.topic.topic_id in wanted]
