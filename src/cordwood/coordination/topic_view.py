"""Topics of the cluster, as coordinators see them (Kafka: `CoordinatorMetadataImage`)."""

from collections.abc import Collection, Iterable
from typing import NamedTuple, Protocol

from cordwood.core.uuids import Uuid


class TopicFacts(NamedTuple):
    """One topic; `racks` has the racks of each partition's replicas, and is empty without racks."""

    name: str
    topic_id: Uuid
    partitions: int
    racks: tuple[tuple[str, ...], ...] = ()


class TopicView(Protocol):
    """An immutable image of all topics."""

    @property
    def version(self) -> int:
        """The number of the image; a later image has a higher one."""

    def by_name(self, name: str) -> TopicFacts | None:
        """Return a topic by its name."""

    def by_id(self, topic_id: Uuid) -> TopicFacts | None:
        """Return a topic by its id."""

    def names(self) -> Collection[str]:
        """Return the names of all topics, of which one is found as in a set."""

    def changed(self, before: "TopicView") -> frozenset[str]:
        """Return the names of those topics that were created, changed or deleted."""


class Topics:
    """A view of given topics."""

    def __init__(self, topics: Iterable[TopicFacts] = (), *, version: int = 0) -> None:
        self._by_name = {each.name: each for each in topics}
        self._by_id = {each.topic_id: each for each in self._by_name.values()}
        self._version = version

    @property
    def version(self) -> int:
        return self._version

    def by_name(self, name: str) -> TopicFacts | None:
        return self._by_name.get(name)

    def by_id(self, topic_id: Uuid) -> TopicFacts | None:
        return self._by_id.get(topic_id)

    def names(self) -> Collection[str]:
        return self._by_name

    def changed(self, before: TopicView) -> frozenset[str]:
        return changed_among({*self.names(), *before.names()}, before, after=self)


def changed_among(names: Iterable[str], before: TopicView, *, after: TopicView) -> frozenset[str]:
    """Return those topics that differ in two views."""
    if not before.names():
        return frozenset(after.names())
    return frozenset(each for each in names if before.by_name(each) != after.by_name(each))


def existing_topics(names: Iterable[str], view: TopicView) -> list[TopicFacts]:
    """Return those topics that exist; a client may name 50,000 that do not."""
    known = view.names()
    topics = (view.by_name(each) for each in names if each in known)
    return [each for each in topics if each is not None]
