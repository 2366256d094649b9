"""Interface to every unmodified client, in one vocabulary: a driver translates.

A call that the client lacks raises CannotError; a rejection by the broker raises RefusedError with
Kafka's code. Other errors are passed through.
"""

from dataclasses import dataclass
from typing import ClassVar, Final

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


class Client:
    """One client with the address of the broker. It cannot do the calls that its driver lacks."""

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

    def consume(self, topic: str, *, partition: int = 0, start: int = 0, count: int) -> Records:
        """Consume N records from an offset on, by assignment and without a group."""
        raise CannotError("does not consume by assignment")

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
