"""Client side of a fetch session with one broker (Java: `FetchSessionHandler`, KIP-227).

    epoch 0     opens a session with all partitions; the response brings a session id, or 0 if
                the broker does not use sessions
    epoch n     partitions that are new or changed since request n-1, and forgotten ones
    an error    closes the session; the next request opens another one
    epoch -1    closes the session when the consumer is closed

A partition that a response leaves out has not changed.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from cordwood.core.binary import INT32_MAX
from cordwood.core.errors import (
    FetchSessionIdNotFoundError,
    FetchSessionTopicIdError,
    InconsistentTopicIdError,
    InvalidFetchSessionEpochError,
    UnknownTopicIdError,
)
from cordwood.core.types import NO_LEADER_EPOCH, NO_OFFSET, TopicPartition
from cordwood.core.uuids import NO_UUID, Uuid
from cordwood.protocol.messages.fetch import FetchPartition, FetchTopic, ForgottenTopic

_NO_SESSION: Final = 0
_FINAL_EPOCH: Final = -1
_ENDED_BY: Final = {
    error.code
    for error in (
        FetchSessionIdNotFoundError,
        FetchSessionTopicIdError,
        InconsistentTopicIdError,
        InvalidFetchSessionEpochError,
        UnknownTopicIdError,
    )
}


class FetchTarget(NamedTuple):
    """Offset, leader epoch and limit of one partition (Java: `FetchRequest.PartitionData`).

    A follower also sends the epoch of the record before the offset, and its log start.
    """

    offset: int
    leader_epoch: int
    max_bytes: int
    topic_id: Uuid = NO_UUID
    last_epoch: int = NO_LEADER_EPOCH
    log_start: int = NO_OFFSET


class FetchSessionRequest(NamedTuple):
    """Session fields of a fetch request (Java: `FetchSessionHandler.FetchRequestData`)."""

    session_id: int
    epoch: int
    topics: list[FetchTopic]
    forgotten: list[ForgottenTopic]


class FetchSessionHandler:
    """Fetch session with one broker."""

    def __init__(self) -> None:
        self._id = _NO_SESSION
        self._epoch = 0
        self._targets: dict[TopicPartition, FetchTarget] = {}

    def request(self, targets: Mapping[TopicPartition, FetchTarget]) -> FetchSessionRequest:
        """Return the session fields with which the broker reads exactly these partitions."""
        if self._epoch == 0:
            self._targets = dict(targets)
            return FetchSessionRequest(self._id, 0, _topics(self._targets), [])
        changed = {
            partition: each
            for partition, each in targets.items()
            if self._targets.get(partition) != each
        }
        forgotten = {
            partition: each
            for partition, each in self._targets.items()
            if partition not in targets or targets[partition].topic_id != each.topic_id
        }
        self._targets = dict(targets)
        return FetchSessionRequest(self._id, self._epoch, _topics(changed), _forgotten(forgotten))

    def last_request(self) -> FetchSessionRequest | None:
        """Return the session fields that close the session; None if the broker has none."""
        if self._id == _NO_SESSION:
            return None
        return FetchSessionRequest(self._id, _FINAL_EPOCH, [], [])

    def handle_response(self, session_id: int, error_code: int) -> bool:
        """Update the session from a response; False if the broker has closed the session."""
        if error_code in _ENDED_BY:
            self.end()
            return False
        if session_id == _NO_SESSION:
            self.end()
        else:
            self._id = session_id
            self._epoch = 1 if self._epoch == INT32_MAX else self._epoch + 1
        return True

    def restart(self) -> None:
        """Replace the session with the next request, so that its response has all partitions."""
        self._epoch = 0

    def end(self) -> None:
        """Open a new session with the next request; the broker evicts the old one."""
        self._id, self._epoch = _NO_SESSION, 0


def _topics(targets: Mapping[TopicPartition, FetchTarget]) -> list[FetchTopic]:
    topics: dict[str, FetchTopic] = {}
    for (name, number), each in targets.items():
        topic = topics.setdefault(
            name, FetchTopic(topic=name, topic_id=each.topic_id, partitions=[])
        )
        topic.partitions.append(
            FetchPartition(
                partition=number,
                current_leader_epoch=each.leader_epoch,
                fetch_offset=each.offset,
                last_fetched_epoch=each.last_epoch,
                log_start_offset=each.log_start,
                partition_max_bytes=each.max_bytes,
            )
        )
    return list(topics.values())


def _forgotten(removed: Mapping[TopicPartition, FetchTarget]) -> list[ForgottenTopic]:
    topics: dict[str, ForgottenTopic] = {}
    for (name, number), each in removed.items():
        topic = topics.setdefault(
            name, ForgottenTopic(topic=name, topic_id=each.topic_id, partitions=[])
        )
        topic.partitions.append(number)
    return list(topics.values())
