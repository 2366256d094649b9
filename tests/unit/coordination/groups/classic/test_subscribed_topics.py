"""The coordinator reads the topics of consumers, in any version of their metadata."""

import pytest

from cordwood.coordination.groups.classic.subscribed_topics import subscribed_topics
from cordwood.protocol.codec import encode, joined
from cordwood.protocol.messages.internal import ConsumerProtocolSubscription
from tests.unit.coordination.groups.classic.classic_samples import subscription


def test_topics_of_all_members_are_joined() -> None:
    assert subscribed_topics([subscription("a", "b"), subscription("b", "c")]) == frozenset("abc")


@pytest.mark.parametrize("version", range(4))
def test_every_version_begins_with_the_topics(version: int) -> None:
    message = ConsumerProtocolSubscription(topics=["a"], generation_id=7, rack_id="r")
    metadata = version.to_bytes(2, "big") + joined(encode(message, version))

    assert subscribed_topics([metadata]) == frozenset("a")


def test_later_version_is_read_as_the_first_one() -> None:
    assert subscribed_topics([b"\x00\x63" + subscription("a")[2:] + b"later"]) == frozenset("a")


@pytest.mark.parametrize("metadata", (b"", b"\0", b"\0\0", b"\0\0\0\0\0\x09", b"\xff" * 20))
def test_topics_are_unknown_when_a_member_has_other_metadata(metadata: bytes) -> None:
    assert subscribed_topics([subscription("a"), metadata]) is None
