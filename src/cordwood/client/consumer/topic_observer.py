"""Topics of a subscription: their metadata, and the matches of a pattern (Java:
`ConsumerMetadata`).

    names                       refreshed with the client's metadata; one that does not exist is
                                looked up every second
    pattern, classic group      all topics are listed every `metadata.max.age.ms`
    pattern, consumer group     the coordinator observes the topics
"""

from typing import TYPE_CHECKING, Final

from cordwood.client.consumer.subscription_state import SubscriptionState
from cordwood.client.group.group_member import GroupMember
from cordwood.client.group.topic_subscription import (
    INTERNAL_TOPICS,
    TopicSubscription,
    compiled,
)
from cordwood.client.network.network_client import NetworkClient
from cordwood.client.settings import ConsumerSettings
from cordwood.core.errors import KafkaError

if TYPE_CHECKING:
    import asyncio

MISSING_TOPIC_MS: Final = 1_000


class TopicObserver:
    """Observer for one consumer, of one subscription at a time."""

    def __init__(
        self, client: NetworkClient, settings: ConsumerSettings, subscriptions: SubscriptionState
    ) -> None:
        self._client = client
        self._settings = settings
        self._subscriptions = subscriptions
        self._following: asyncio.Task[None] | None = None

    def follow(self, subscription: TopicSubscription, member: GroupMember) -> None:
        """Give a member the topics of its subscription from now on."""
        if subscription.pattern is not None and self._settings.group_protocol == "classic":
            compiled(subscription.pattern)  # an invalid one is an error of `subscribe`
            work = self._follow_pattern(subscription, member)
        else:
            member.subscribe(subscription)
            work = self._follow_names(subscription, member)
        self.stop()
        self._following = self._client.tasks.start(work)

    def stop(self) -> None:
        """Observe no topics any longer."""
        if self._following is not None:
            self._following.cancel()

    def topics_in_use(self, member: GroupMember | None) -> set[str]:
        """Return the topics whose metadata the client refreshes."""
        observed = () if member is None else member.membership.metadata_topics
        return {*(each.partition.topic for each in self._subscriptions), *observed}

    async def _follow_names(self, subscription: TopicSubscription, member: GroupMember) -> None:
        while missing := self._missing(subscription):
            for topic in missing:
                self._client.topics.use(topic)
            self._client.refresh_soon()
            await self._client.runtime.sleep_ms(MISSING_TOPIC_MS)
        member.observe_metadata()

    def _missing(self, subscription: TopicSubscription) -> list[str]:
        known = self._client.cluster.topics
        return [
            name
            for name in subscription.names
            if name not in known or known[name].error_code or not known[name].partitions
        ]

    async def _follow_pattern(self, subscription: TopicSubscription, member: GroupMember) -> None:
        """List all topics, at once and then at the interval, until another call of `follow`."""
        excluded = INTERNAL_TOPICS if self._settings.exclude_internal_topics else frozenset()
        matched: TopicSubscription | None = None
        while True:
            pause_ms: float = max(self._settings.metadata_max_age_ms, 1)
            try:
                topics = await self._client.current_topics()
                found = subscription.matching((each.name for each in topics), excluded=excluded)
                if found != matched:
                    matched = found
                    member.subscribe(found)
            except KafkaError:
                pause_ms = self._settings.retry_backoff_max_ms
            await self._client.runtime.sleep_ms(pause_ms)
