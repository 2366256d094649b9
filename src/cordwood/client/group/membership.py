"""Membership of a group as values: events in, effects out (Java: `AbstractMembershipManager`).

    SendRequest       to the coordinator; `on_response` or `on_error` follows
    Rebalance         a change of the owned partitions, in the next call of the consumer's user: it
                      commits and runs the user's callbacks; `on_rebalanced` follows
    LoadTopics        the metadata of all topics of the group; `on_partition_counts` follows
    ResolveTopicIds   names of topics; `on_topic_names` follows
    MembershipError   raised by the next poll
    MembershipEnded   the group is left

A membership has no clock, tasks or connections. `wake_at_ms` is the time of its next `on_time`.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import NamedTuple, Protocol, TypeAlias

from cordwood.client.group.topic_subscription import TopicSubscription
from cordwood.core.errors import KafkaError
from cordwood.core.types import TopicPartition
from cordwood.core.uuids import Uuid
from cordwood.protocol.schema import Request, Response


class RebalanceKind(Enum):
    """Change of the partitions of a rebalance."""

    ASSIGNED = "assigned"
    #: The member still owns them: it commits first.
    REVOKED = "revoked"
    #: Another member may own them already: a commit would fail.
    LOST = "lost"


class SendRequest(NamedTuple):
    """Request to the coordinator, with its timeout; None: the client's default."""

    request: Request
    timeout_ms: float | None = None


class Rebalance(NamedTuple):
    """Partitions that are assigned, revoked or lost, and all that are owned afterwards."""

    kind: RebalanceKind
    partitions: frozenset[TopicPartition]
    owned_after: frozenset[TopicPartition]


class LoadTopics(NamedTuple):
    """Topics whose partition counts the leader needs."""

    topics: frozenset[str]


class ResolveTopicIds(NamedTuple):
    """Topic ids of an assignment whose names are unknown."""

    topic_ids: frozenset[Uuid]


class MembershipError(NamedTuple):
    """Error for the user; a final one is repeated by each poll until the consumer unsubscribes."""

    error: KafkaError
    is_final: bool


class MembershipEnded(NamedTuple):
    """End of the membership, after `leave`."""


Effect: TypeAlias = (
    SendRequest | Rebalance | LoadTopics | ResolveTopicIds | MembershipError | MembershipEnded
)


class MemberIdentity(NamedTuple):
    """Member id and generation or epoch that a commit carries; without a membership "" and -1."""

    member_id: str = ""
    epoch: int = -1


class Membership(Protocol):
    """One member of one group. Every event may add effects; each is taken once."""

    @property
    def identity(self) -> MemberIdentity:
        """The identity for commits."""

    @property
    def wake_at_ms(self) -> float | None:
        """Time of the next `on_time`."""

    @property
    def needs_poll(self) -> bool:
        """Whether the membership goes on at the next `on_poll`."""

    @property
    def metadata_topics(self) -> frozenset[str]:
        """Topics whose metadata the membership observes."""

    @property
    def is_ending(self) -> bool:
        """Whether the group is left, or about to be."""

    def take_effects(self) -> list[Effect]:
        """Return the effects since the last call."""

    def subscribe(self, subscription: TopicSubscription, now_ms: float) -> None:
        """Join with a subscription, or change it."""

    def on_poll(self, now_ms: float) -> None:
        """Handle the begin of a poll; the user may take any time in it."""

    def on_poll_end(self, now_ms: float) -> None:
        """Handle the return of a poll: the user has `max.poll.interval.ms` until the next one."""

    def on_time(self, now_ms: float) -> None:
        """Handle what is due."""

    def on_response(self, request: Request, response: Response, *, now_ms: float) -> None:
        """Handle a response without an error."""

    def on_error(
        self, request: Request, error: KafkaError, *, now_ms: float, member_id: str = ""
    ) -> None:
        """Handle an error; `member_id` is that of a response with MEMBER_ID_REQUIRED."""

    def on_metadata(self, counts: Mapping[str, int], now_ms: float) -> None:
        """Handle the partition counts of the present topics."""

    def on_partition_counts(self, counts: Mapping[str, int], now_ms: float) -> None:
        """Handle the answer to LoadTopics."""

    def on_topic_names(self, names: Mapping[Uuid, str], now_ms: float) -> None:
        """Handle the answer to ResolveTopicIds; names may be missing."""

    def on_rebalanced(self, now_ms: float) -> None:
        """Handle the end of the last Rebalance."""

    def leave(self, now_ms: float, *, is_leaving_group: bool | None) -> None:
        """Revoke all partitions and leave; by default a static member leaves for a while only."""


def sorted_text(partitions: Iterable[TopicPartition]) -> str:
    """Return partitions as text, for logs."""
    return ", ".join(map(str, sorted(partitions))) or "none"
