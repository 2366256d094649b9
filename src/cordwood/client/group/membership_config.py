"""Settings of one membership (Java: `GroupRebalanceConfig`)."""

from dataclasses import dataclass

from cordwood.client.group.assignors.assignor import Assignor

#: Time after the rebalance timeout in which a coordinator answers a JoinGroup request.
JOIN_ANSWER_MS = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipConfig:
    """Values of a membership that do not change; the defaults are Kafka's."""

    group_id: str
    instance_id: str | None = None
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    max_poll_interval_ms: int = 300_000
    request_timeout_ms: int = 30_000
    assignors: tuple[Assignor, ...] = ()
    server_assignor: str | None = None

    @property
    def is_cooperative(self) -> bool:
        """Whether members keep their partitions over a rebalance: if all assignors allow it."""
        return bool(self.assignors) and all(each.is_cooperative for each in self.assignors)

    @property
    def join_timeout_ms(self) -> int:
        """Maximum wait for the response to a JoinGroup or SyncGroup request."""
        return max(self.request_timeout_ms, self.max_poll_interval_ms + JOIN_ANSWER_MS)
