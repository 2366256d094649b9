"""Metadata of members and their assignments in classic groups (Java: `ConsumerProtocol`).

    i16 version | the message of that version

A reader uses the older of both versions: later ones only add fields at the end.
"""

import struct
from collections.abc import Iterable
from typing import Final, TypeVar

from cordwood.client.group.assignors.assignor import SubscribedMember
from cordwood.client.topic_partitions import by_topic, partitions_of
from cordwood.core.binary import Buffer, bytes_view
from cordwood.core.errors import BytesError
from cordwood.core.types import TopicPartition
from cordwood.protocol.codec import decode, encode, joined
from cordwood.protocol.messages import internal
from cordwood.protocol.messages.internal import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from cordwood.protocol.schema import Message

PROTOCOL_TYPE: Final = "consumer"

_VERSION: Final = struct.Struct(">h")
#: Version 3 adds the rack, which no assignor here uses.
_SUBSCRIPTION_VERSION: Final = 2
_ASSIGNMENT_VERSION: Final = 1

M = TypeVar("M", bound=Message)


def encode_subscription(
    topics: Iterable[str], owned: Iterable[TopicPartition], *, generation: int
) -> bytes:
    """Return the metadata of a member that owns partitions since a generation."""
    message = ConsumerProtocolSubscription(
        topics=sorted(topics), owned_partitions=_grouped(owned), generation_id=generation
    )
    return _encoded(message, _SUBSCRIPTION_VERSION)


def decode_subscription(
    metadata: Buffer, *, member_id: str, instance_id: str | None = None
) -> SubscribedMember:
    """Return a member by its metadata; BytesError for invalid ones."""
    message = _decoded(ConsumerProtocolSubscription, metadata)
    return SubscribedMember(
        member_id,
        frozenset(message.topics),
        tuple(_partitions(message.owned_partitions)),
        message.generation_id,
        instance_id,
    )


def encode_assignment(partitions: Iterable[TopicPartition]) -> bytes:
    """Return the assignment of one member."""
    message = ConsumerProtocolAssignment(assigned_partitions=_grouped(partitions))
    return _encoded(message, _ASSIGNMENT_VERSION)


def decode_assignment(assignment: Buffer) -> list[TopicPartition]:
    """Return the assigned partitions; empty bytes are an empty assignment."""
    if not len(bytes_view(assignment)):
        return []
    return _partitions(_decoded(ConsumerProtocolAssignment, assignment).assigned_partitions)


def _grouped(partitions: Iterable[TopicPartition]) -> list[internal.TopicPartition]:
    return [
        internal.TopicPartition(topic=topic, partitions=[each.partition for each in members])
        for topic, members in sorted(by_topic(sorted(partitions)).items())
    ]


def _partitions(topics: Iterable[internal.TopicPartition]) -> list[TopicPartition]:
    return partitions_of((each.topic, number) for each in topics for number in each.partitions)


def _encoded(message: Message, version: int) -> bytes:
    return _VERSION.pack(version) + joined(encode(message, version))


def _decoded(kind: type[M], data: Buffer) -> M:
    view = bytes_view(data)
    if len(view) < _VERSION.size:
        raise BytesError("a version", position=0, expected=_VERSION.size, found=len(view))
    (version,) = _VERSION.unpack_from(view)
    newest = kind.__schema__.versions[1]
    if version < 0:
        raise BytesError("a version", position=0, expected=f"0 to {newest}", found=version)
    return decode(kind, view[_VERSION.size :], min(version, newest))
