"""A consumer's half of a fetch session: only what changed is asked for, per broker.

    epoch 0     opens a session with everything; the answer brings an id, or 0 where the broker
                does without sessions
    epoch n     what is new or different since request n-1, and what is to be forgotten
    an error    the session is gone, the next request opens another

What is not answered about a partition has not changed.
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
from cordwood.core.ids import NO_UUID, Uuid
from cordwood.core.types import TopicPartition
from cordwood.protocol.messages.fetch import FetchPartition, FetchTopic, ForgottenTopic

_NO_SESSION: Final = 0
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


class Wanted(NamedTuple):
    """From where on to read a partition."""

    offset: int
    leader_epoch: int
    max_bytes: int
    topic_id: Uuid = NO_UUID


class SessionRequest(NamedTuple):
    """What a fetch request says of the session."""

    session_id: int
    epoch: int
    topics: list[FetchTopic]
    forgotten: list[ForgottenTopic]


class FetchSession:
    """The session with one broker."""

    def __init__(self) -> None:
        self._id = _NO_SESSION
        self._epoch = 0
        self._asked: dict[TopicPartition, Wanted] = {}

    def request(self, wanted: Mapping[TopicPartition, Wanted]) -> SessionRequest:
        """Return what to ask so that the broker reads what is wanted, and nothing else."""
        if self._epoch == 0:
            self._asked = dict(wanted)
            return SessionRequest(self._id, 0, _topics(self._asked), [])
        changed = {
            partition: each
            for partition, each in wanted.items()
            if self._asked.get(partition) != each
        }
        forgotten = {
            partition: each
            for partition, each in self._asked.items()
            if partition not in wanted or wanted[partition].topic_id != each.topic_id
        }
        self._asked = dict(wanted)
        return SessionRequest(self._id, self._epoch, _topics(changed), _forgotten(forgotten))

    def answered(self, session_id: int, error_code: int) -> bool:
        """Take what an answer says of the session; False if it has ended and nothing was read."""
        if error_code in _ENDED_BY:
            self.end()
            return False
        if session_id == _NO_SESSION:
            self.end()
        else:
            self._id = session_id
            self._epoch = 1 if self._epoch == INT32_MAX else self._epoch + 1
        return True

    def end(self) -> None:
        """Begin with everything the next time; the broker drops the old session by itself."""
        self._id, self._epoch = _NO_SESSION, 0


def _topics(wanted: Mapping[TopicPartition, Wanted]) -> list[FetchTopic]:
    topics: dict[str, FetchTopic] = {}
    for (name, number), each in wanted.items():
        topic = topics.setdefault(
            name, FetchTopic(topic=name, topic_id=each.topic_id, partitions=[])
        )
        topic.partitions.append(
            FetchPartition(
                partition=number,
                current_leader_epoch=each.leader_epoch,
                fetch_offset=each.offset,
                partition_max_bytes=each.max_bytes,
            )
        )
    return list(topics.values())


def _forgotten(gone: Mapping[TopicPartition, Wanted]) -> list[ForgottenTopic]:
    topics: dict[str, ForgottenTopic] = {}
    for (name, number), each in gone.items():
        topic = topics.setdefault(
            name, ForgottenTopic(topic=name, topic_id=each.topic_id, partitions=[])
        )
        topic.partitions.append(number)
    return list(topics.values())
