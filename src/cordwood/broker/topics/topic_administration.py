"""Port to the changes of topics, as the request handlers make them (Kafka: `Controller`).

An embedded broker stores topics itself (`topic_manager`). A broker of a cluster stores them in
ZooKeeper, where the controller takes notice of them (`cluster_admin`).
"""

from collections.abc import Sequence
from typing import Protocol

from cordwood.broker.topics.request_deadline import RequestDeadline
from cordwood.broker.topics.topic_planning import Grown, NewPartitions, Planned
from cordwood.broker.topics.topic_selection import TopicReference, TopicSelection
from cordwood.broker.topics.topic_validation import NewTopic


class TopicAdministration(Protocol):
    """Changes of topics.

    A change that a result reports is durable. Raises NotControllerError if another broker has to
    make the change, and RequestTimedOutError if the deadline comes before the change has begun.
    """

    async def create(
        self,
        new: Sequence[NewTopic],
        *,
        validate_only: bool = False,
        deadline: RequestDeadline | None = None,
    ) -> list[Planned]:
        """Create topics; return the created topic or the error for each."""

    async def create_missing(self, names: Sequence[str]) -> list[Planned]:
        """Create missing topics with the broker's settings, on any broker.

        LeaderNotAvailableError is the result for a topic that exists, but is not in the image yet.
        Raises PolicyViolationError for too many names.
        """

    async def grow(
        self,
        wanted: Sequence[NewPartitions],
        *,
        validate_only: bool = False,
        deadline: RequestDeadline | None = None,
    ) -> list[Grown]:
        """Add partitions to topics; return the grown topic or the error for each."""

    async def delete(
        self, references: Sequence[TopicReference], *, deadline: RequestDeadline | None = None
    ) -> TopicSelection:
        """Delete topics; return the deleted topics and the rejected references."""

    async def stop(self) -> None:
        """Complete the changes that have begun; no request may follow."""
