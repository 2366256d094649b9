"""Refresh of resolved regular expressions (Kafka: `maybeUpdateRegularExpressions`).

A group resolves all its expressions together: when one is new, when topics were created, or after
the refresh interval. One resolution runs at a time, and the next begins 10 seconds later or more.
"""

from enum import Enum, auto
from typing import Final

from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.coordinator_record import CoordinatorRecord
from cordwood.coordination.groups.consumer.group import consumer_group_records as records
from cordwood.coordination.groups.consumer.group.consumer_group import ConsumerGroup
from cordwood.coordination.groups.consumer.group.consumer_group_member import ConsumerGroupMember
from cordwood.coordination.groups.consumer.topics.metadata_hash import MetadataHashes
from cordwood.coordination.groups.consumer.topics.regex_resolution import RegexResolution
from cordwood.coordination.groups.consumer.topics.topic_pattern import TopicPattern
from cordwood.coordination.topic_view import TopicView

MIN_INTERVAL_MS: Final = 10_000


class RegexUpdate(Enum):
    """Effect of a request on its member's regular expression."""

    NO_CHANGE = auto()
    UPDATED = auto()
    #: The topics of the new expression are known: the group epoch rises at once.
    UPDATED_AND_RESOLVED = auto()


class RegexRefreshes:
    """Resolutions that are due or running; groups wait for them, requests do not."""

    def __init__(self, *, interval_ms: int, hashes: MetadataHashes | None = None) -> None:
        self._interval_ms = interval_ms
        self._hashes = hashes or MetadataHashes()
        self._running = set[str]()
        self._due = list[RegexResolution]()
        #: The version of the last view that has topics which the view before it has not.
        self.topics_created_version = -1

    def take_due(self) -> list[RegexResolution]:
        """Return the resolutions to run, each once."""
        due, self._due = self._due, []
        return due

    def ended(self, group_id: str) -> None:
        """Allow the next resolution of a group."""
        self._running.discard(group_id)

    def request(
        self,
        group: ConsumerGroup,
        member: tuple[ConsumerGroupMember, ConsumerGroupMember],
        *,
        client: ClientContext,
        view: TopicView,
        now_ms: int,
        is_new: bool,
    ) -> None:
        """Begin a resolution if one is needed, for a member before and after a request."""
        before, after = member
        if not is_new and not group.subscriptions.regexes:
            return
        if group.group_id in self._running:
            return
        resolved = group.subscriptions.resolved
        last = next(iter(resolved.values()), None)
        if last is not None and now_ms <= last.timestamp_ms + MIN_INTERVAL_MS:
            return
        regexes = set(group.subscriptions.after((before,), (after,)).regexes)
        is_needed = (
            is_new
            or last is None
            or len(regexes) != len(resolved)
            or last.version < self.topics_created_version
            or now_ms > last.timestamp_ms + self._interval_ms
        )
        if is_needed and regexes:
            self._running.add(group.group_id)
            self._due.append(
                RegexResolution(
                    group_id=group.group_id,
                    client=client,
                    regexes=tuple(sorted(regexes)),
                    view=view,
                    hashes=self._hashes,
                )
            )


def update_regex(
    group: ConsumerGroup,
    before: ConsumerGroupMember,
    *,
    after: ConsumerGroupMember,
    written: list[CoordinatorRecord],
) -> tuple[RegexUpdate, bool]:
    """Return the effect of a request, and whether its expression is new to the group.

    Raises INVALID_REGULAR_EXPRESSION for a new expression that RE2 rejects. The last subscriber of
    an expression deletes its topics.
    """
    old, new = before.topic_regex or "", after.topic_regex or ""
    if old == new:
        return RegexUpdate.NO_CHANGE, False
    if old and group.subscriptions.regexes[old] == 1:
        written.append(records.regular_expression_tombstone(group.group_id, old))
    if not new:
        return RegexUpdate.UPDATED_AND_RESOLVED, False
    if not group.subscriptions.regexes[new]:
        TopicPattern(new)
        return RegexUpdate.UPDATED, True
    if new in group.subscriptions.resolved:
        return RegexUpdate.UPDATED_AND_RESOLVED, False
    return RegexUpdate.UPDATED, False
