"""A message and its bytes, held against each other both ways."""

from cordwood.core.ids import Uuid
from cordwood.protocol.codec import decode, encode
from cordwood.protocol.schema import Message

ID = Uuid(bytes(range(16)))


def assert_wire(message: Message, wire: str, *, version: int) -> None:
    """See that the bytes, in hex with a group a field, are what is written and what is read."""
    data = bytes.fromhex(wire)
    assert encode(message, version) == [data]
    assert decode(type(message), data, version) == message
