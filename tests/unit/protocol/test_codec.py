"""Decoding and encoding by message and version."""

import pytest

from cordwood.core.errors import UnsupportedVersionError
from cordwood.protocol.codec import decode, encode, joined, reader, size_of, writer
from cordwood.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from cordwood.protocol.primitives import ElementLimitError
from cordwood.testing.memory_files import MemoryFiles
from tests.unit.protocol.messages_of_tests import Later, Produced


def test_codec_of_a_version_is_created_once() -> None:
    assert reader(Later, 1) is reader(Later, 1)
    assert writer(Later, 1) is not writer(Later, 2)


@pytest.mark.parametrize("version", (-1, 3))
def test_codec_for_an_undeclared_version_is_rejected(version: int) -> None:
    with pytest.raises(UnsupportedVersionError, match=f"versions 0 to 2, not {version}"):
        decode(Later, b"", version)
    with pytest.raises(UnsupportedVersionError, match=f"versions 0 to 2, not {version}"):
        encode(Later(kept=1), version)


def test_decode_ignores_trailing_bytes() -> None:
    assert decode(Later, bytes.fromhex("00000001 0000 ffff"), 1) == Later(kept=1)


def test_encode_hands_a_range_of_a_file_on() -> None:
    files = MemoryFiles()
    file = files.create("/log")
    file.append(b"records")

    part = file.slice(1, 3)
    chunks = encode(Produced(records=part), 0)

    assert chunks[1] is part
    assert size_of(chunks) == 4 + 4 + 3 + 4
    assert joined(chunks) == bytes.fromhex("00000000 00000003") + b"eco" + bytes(4)


def test_message_with_more_elements_than_the_limit_is_rejected() -> None:
    topics = [MetadataRequestTopic(name="a"), MetadataRequestTopic(name="b")]
    request = MetadataRequest(topics=topics)
    data = joined(encode(request, 12))

    assert decode(MetadataRequest, data, 12, most=2) == request
    assert joined(encode(request, 12, most=2)) == data
    with pytest.raises(ElementLimitError):
        decode(MetadataRequest, data, 12, most=1)
    with pytest.raises(ElementLimitError):
        encode(request, 12, most=1)


def test_unknown_tagged_fields_count_as_elements() -> None:
    tags = tuple((number, b"") for number in range(100, 103))
    request = MetadataRequest(topics=[])
    request.unknown_tags = tags
    data = joined(encode(request, 12))

    assert decode(MetadataRequest, data, 12, most=3).unknown_tags == tags
    with pytest.raises(ElementLimitError):
        decode(MetadataRequest, data, 12, most=2)
