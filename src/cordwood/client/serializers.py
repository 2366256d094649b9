"""From values to the bytes of keys and values, and back. Any function that does so will do.

None is never given to one: it stays null, which as a value says that the key is deleted.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeAlias

from cordwood.core.binary import Buffer
from cordwood.core.errors import SettingError

Plain: TypeAlias = Buffer | str
"""What needs no serializer: bytes as they are, text as UTF-8."""

if TYPE_CHECKING:  # Python 3.11 knows no defaults, and needs none
    from typing_extensions import TypeVar

    K = TypeVar("K", default=Plain)
    V = TypeVar("V", default=Plain)
    ReadK = TypeVar("ReadK", default=bytes)
    ReadV = TypeVar("ReadV", default=bytes)
else:
    from typing import TypeVar

    K, V = TypeVar("K"), TypeVar("V")
    ReadK, ReadV = TypeVar("ReadK"), TypeVar("ReadV")


@dataclass(frozen=True, slots=True)
class Serializers(Generic[K, V]):
    """How a producer writes keys and values."""

    key: Callable[[K], bytes]
    value: Callable[[V], bytes]


@dataclass(frozen=True, slots=True)
class Deserializers(Generic[ReadK, ReadV]):
    """How a consumer reads keys and values."""

    key: Callable[[bytes], ReadK]
    value: Callable[[bytes], ReadV]


def plain(value: Plain) -> bytes:
    """Return bytes as they are, and text as UTF-8."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    raise SettingError(
        f"a {type(value).__name__} is neither bytes nor text",
        key="serializers",
        remedy="give the producer Serializers, with a function that makes bytes of it",
    )


def as_is(data: bytes) -> bytes:
    """Return the bytes."""
    return data


def text(data: bytes) -> str:
    """Return bytes as the text that they are in UTF-8."""
    return data.decode()


def to_json(value: object) -> bytes:
    """Return a value as JSON."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def from_json(data: bytes) -> object:
    """Return the value that JSON stands for."""
    value: object = json.loads(data)
    return value


PLAIN: Final = Serializers(plain, plain)
BYTES: Final = Deserializers(as_is, as_is)
