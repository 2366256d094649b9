"""Interface to every unmodified client, in one vocabulary: a driver translates.

A call that the client lacks raises CannotError; a rejection by the broker raises RefusedError with
Kafka's code. Other errors are passed through.
"""

from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple, Protocol

from tests.interop.kafka_harness.spec import SpecRecord

LATEST: Final = -1
EARLIEST: Final = -2
#: More than any message of these tests: a client must not refuse what the broker shall refuse.
CLIENT_LIMIT: Final = 8 << 20

Records = tuple[SpecRecord, ...]


class CannotError(Exception):
    """The client has no such call, or its call has no such option."""


class RefusedError(Exception):
    """The broker rejected the request; `code` is Kafka's, or None if the client hides it."""

    def __init__(self, code: int | None, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """How a producer sends."""

    codec: str = "none"
    acks: int = -1
    is_idempotent: bool = False


PLAIN: Final = Sending()


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """How a consumer is a member of a group."""

    group: str
    topic: str
    #: "classic" or "consumer", as in Kafka's `group.protocol`.
    protocol: str = "classic"
    #: "range" or "cooperative-sticky", of the classic protocol.
    assignor: str = "range"
    instance: str | None = None


class Polled(NamedTuple):
    """The result of a poll: the partitions that the member has after it, and new values."""

    assigned: list[int]
    values: list[bytes]


class Member(Protocol):
    """A consumer in a group. It reads committed records from the first on."""

    def poll(self) -> Polled:
        """Wait a short time for records or for another assignment."""

    def commit(self) -> None:
        """Commit the position after all records that have been returned."""

    def leave(self) -> None:
        """Close the consumer; a static member stays in the group until its session ends."""


class Transactions(Protocol):
    """A transactional producer, which fences the earlier one of its id."""

    def begin(self) -> None: ...

    def send(self, topic: str, records: Records) -> None:
        """Send records to partition 0, and return when all are acknowledged."""

    def send_offsets(self, member: Member) -> None:
        """Add the positions of a member of the same client to the transaction."""

    def end(self, *, commit: bool) -> None: ...

    def close(self) -> None: ...


class Client:
    """One client with the address of the broker. It cannot do the calls that its driver lacks."""

    #: Consumers can be assigned a partition; else they are always members of a group.
    has_assignment: ClassVar[bool] = True
    #: Offsets are committed to a group.
    has_commits: ClassVar[bool] = True
    #: A sender chooses the times of its records.
    has_times: ClassVar[bool] = True
    #: Keys, values and headers are any bytes or null; else they are text.
    is_binary: ClassVar[bool] = True

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    def version(self) -> str:
        """The client's own version."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of what the client holds."""

    def produce(
        self, topic: str, records: Records, sending: Sending = PLAIN, *, partition: int = 0
    ) -> None:
        """Send records in this order, and return when all are acknowledged."""
        raise CannotError("does not produce")

    def consume(
        self,
        topic: str,
        *,
        partition: int = 0,
        start: int = 0,
        count: int,
        is_committed: bool = False,
    ) -> Records:
        """Consume N records from an offset on, by assignment; or committed records alone."""
        raise CannotError("does not consume by assignment")

    def read_group(self, group: str, topic: str, *, count: int) -> list[bytes]:
        """Read N values as the only member of a group, commit their offsets and leave."""
        member = self.join(Membership(group=group, topic=topic))
        values: list[bytes] = []
        while len(values) < count:
            values += member.poll().values
        member.commit()
        member.leave()
        return values

    def join(self, membership: Membership) -> Member:
        """Subscribe to a topic; the group is joined with the first polls."""
        raise CannotError("has no groups")

    def open_transactions(self, transactional_id: str) -> Transactions:
        """A producer whose id is registered."""
        raise CannotError("has no transactions")

    def open_session(
        self, transactional_id: str, membership: Membership
    ) -> tuple[Transactions, Member]:
        """A producer and a member whose offsets it commits; some clients make them as one."""
        return self.open_transactions(transactional_id), self.join(membership)

    def offset(self, topic: str, timestamp: int) -> int:
        """The offset of LATEST, of EARLIEST, or of the first record of a time or a later one."""
        raise CannotError("does not ask for offsets")

    def create_topic(self, topic: str, *, partitions: int, configs: dict[str, str]) -> None:
        raise CannotError("has no admin calls")

    def describe_topic(self, topic: str) -> list[int]:
        """The leader of each partition."""
        raise CannotError("has no admin calls")

    def grow_topic(self, topic: str, *, partitions: int) -> None:
        """More partitions, up to this number."""
        raise CannotError("has no admin calls")

    def delete_topic(self, topic: str) -> None:
        raise CannotError("has no admin calls")

    def config(self, topic: str, name: str) -> str:
        """A setting of a topic."""
        raise CannotError("has no admin calls")

    def set_config(self, topic: str, *, name: str, value: str) -> None:
        raise CannotError("has no admin calls")

    def delete_records(self, topic: str, before: int) -> int:
        """Let partition 0 begin at an offset; where it begins now."""
        raise CannotError("has no admin calls")

    def describe_cluster(self) -> list[int]:
        """The ids of all brokers."""
        raise CannotError("has no admin calls")

    def log_dirs(self) -> dict[str, int]:
        """The size of every partition on the broker's disk, by "topic-partition"."""
        raise CannotError("does not ask for log directories")

    def list_groups(self) -> list[str]:
        raise CannotError("has no admin calls for groups")

    def describe_group(self, group: str) -> tuple[str, int]:
        """The state of a group in lower case, and the number of its members."""
        raise CannotError("has no admin calls for groups")

    def delete_group(self, group: str) -> None:
        raise CannotError("has no admin calls for groups")

    def group_offsets(self, group: str, topic: str) -> dict[int, int]:
        """The committed offsets of a group, by partition."""
        raise CannotError("has no admin calls for groups")

    def set_group_offset(self, group: str, topic: str, offset: int) -> None:
        """Commit an offset of partition 0 for a group without members."""
        raise CannotError("has no admin calls for groups")

    def delete_group_offset(self, group: str, topic: str) -> None:
        """Delete the offset of partition 0."""
        raise CannotError("has no admin calls for groups")

    def list_transactions(self) -> list[str]:
        """The transactional ids that the broker knows."""
        raise CannotError("has no admin calls for transactions")

    def describe_transaction(self, transactional_id: str) -> tuple[str, list[str]]:
        """The state of a transaction in lower case, and its partitions as "topic-partition"."""
        raise CannotError("has no admin calls for transactions")
