"""Serializers and deserializers of keys and values (Java: `Serializer`, `Deserializer`).

Any function from value to bytes, or back, is accepted. None is never passed to such a function: a
null key or value stays null, and a null value is a tombstone.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeAlias

from cordwood.core.binary import Buffer
from cordwood.core.errors import SettingError

Plain: TypeAlias = Buffer | str
"""Values that need no serializer: bytes, and text that is written as UTF-8."""

if TYPE_CHECKING:  # Python 3.11 has no type variable defaults
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
    """Functions with which a producer encodes keys and values."""

    key: Callable[[K], bytes]
    value: Callable[[V], bytes]


@dataclass(frozen=True, slots=True)
class Deserializers(Generic[ReadK, ReadV]):
    """Functions with which a consumer decodes keys and values."""

    key: Callable[[bytes], ReadK]
    value: Callable[[bytes], ReadV]


def plain(value: Plain) -> bytes:
    """Return bytes unchanged, and text as UTF-8."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    raise SettingError(
        f"{type(value).__name__} is neither bytes nor text",
        key="serializers",
        remedy="give the producer Serializers with a function that encodes it",
    )


def as_is(data: bytes) -> bytes:
    """Return the bytes unchanged."""
    return data


def text(data: bytes) -> str:
    """Decode bytes as UTF-8."""
    return data.decode()


def to_json(value: object) -> bytes:
    """Encode a value as JSON."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def from_json(data: bytes) -> object:
    """Decode JSON."""
    value: object = json.loads(data)
    return value


PLAIN: Final = Serializers(plain, plain)
BYTES: Final = Deserializers(as_is, as_is)
