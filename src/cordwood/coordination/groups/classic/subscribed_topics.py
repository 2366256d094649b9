"""Topics that the consumers of a classic group subscribe (Kafka: `computeSubscribedTopics`).

    metadata of a member   i16 version | topics | ...      see `ConsumerProtocolSubscription`

Later versions only add fields behind those of version 0, so every version is read as version 0.
"""

from collections.abc import Iterable
from typing import Final

from cordwood.core.errors import BytesError
from cordwood.protocol.codec import decode
from cordwood.protocol.messages.internal import ConsumerProtocolSubscription

CONSUMER_PROTOCOL: Final = "consumer"
"""The protocol type of consumers. Others, such as Kafka Connect, have metadata of their own."""

_VERSION_BYTES: Final = 2


def subscribed_topics(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """Return all topics of the members' subscriptions, None if one of them cannot be read."""
    topics = set[str]()
    try:
        for each in subscriptions:
            topics.update(_topics_of(each))
    except BytesError:
        return None
    return frozenset(topics)


def _topics_of(subscription: bytes) -> list[str]:
    if len(subscription) < _VERSION_BYTES:
        raise BytesError(
            "a subscription without a version",
            position=0,
            expected=_VERSION_BYTES,
            found=len(subscription),
        )
    view = memoryview(subscription)[_VERSION_BYTES:]
    return decode(ConsumerProtocolSubscription, view, 0).topics
