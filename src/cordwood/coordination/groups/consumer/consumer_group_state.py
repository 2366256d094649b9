"""State that all requests of a shard's consumer groups share, besides the groups.

It is in no record: a loaded shard begins without it.
"""

from cordwood.coordination.groups.classic.classic_groups import ClassicGroups
from cordwood.coordination.groups.consumer.consumer_group_configs import ConsumerGroupConfigs
from cordwood.coordination.groups.consumer.group.consumer_group import ConsumerGroup
from cordwood.coordination.groups.consumer.group.subscriptions import Subscriptions
from cordwood.coordination.groups.consumer.member_timers import MemberTimers
from cordwood.coordination.groups.consumer.topics.metadata_hash import MetadataHashes
from cordwood.coordination.groups.consumer.topics.regex_refresh import RegexRefreshes
from cordwood.coordination.groups.group_registry import GroupRegistry
from cordwood.coordination.groups.group_settings import GroupSettings
from cordwood.coordination.topic_view import Topics, TopicView
from cordwood.core.errors import GroupIdNotFoundError
from cordwood.core.ports import Random
from cordwood.core.uuids import format_uuid, make_uuid


class ConsumerGroupShardState:
    """Groups, settings, topics, timers and regular expressions of one shard."""

    def __init__(
        self,
        registry: GroupRegistry,
        configs: ConsumerGroupConfigs,
        *,
        classic: ClassicGroups,
        random: Random,
    ) -> None:
        self.registry = registry
        self.configs = configs
        self.classic = classic
        self.view: TopicView = Topics(version=-1)
        self.hashes = MetadataHashes()
        self.timers = MemberTimers()
        self.regexes = RegexRefreshes(
            interval_ms=self.settings.consumer_regex_refresh_interval_ms, hashes=self.hashes
        )
        self._random = random

    @property
    def settings(self) -> GroupSettings:
        """The broker's settings of groups."""
        return self.configs.settings

    def new_member_id(self) -> str:
        """Return a random member id."""
        return format_uuid(make_uuid(self._random))

    def group(self, group_id: str) -> ConsumerGroup:
        """Return a group of this kind; raise GROUP_ID_NOT_FOUND if there is none."""
        group = self.registry.get(group_id)
        if not isinstance(group, ConsumerGroup):
            raise GroupIdNotFoundError(f"Group {group_id} is not a consumer group.")
        return group

    def may_assign(self, group: ConsumerGroup, now_ms: int) -> bool:
        """Return whether the assignment interval of a group has passed."""
        last_ms = group.assignment_timestamp_ms
        interval_ms = self.configs.assignment_interval_ms(group.group_id)
        return last_ms == 0 or interval_ms == 0 or now_ms >= last_ms + interval_ms

    def metadata_hash(self, subscriptions: Subscriptions) -> int:
        """Return the hash of all topics of a group."""
        return self.hashes.of_group(subscriptions.topic_names(self.view.names()), self.view)
