"""JSON in the contents of nodes (Kafka: `Json`).

Kafka writes a node by a map, so the order of its keys is not fixed, and ignores unknown keys.
"""

import json
from collections.abc import Callable
from typing import Final, TypeVar

from cordwood.core.errors import BytesError, DamagedFileError

T = TypeVar("T")

_SHOWN: Final = 60


def encode_json(content: object) -> bytes:
    """Return the content of a node."""
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()


def decode_json(
    data: bytes, decode: Callable[[dict[str, object]], T], *, path: str, expected: str
) -> T:
    """Return the value that `decode` makes of an object; DamagedFileError, which names the path."""
    try:
        return decode(_object(json.loads(data)))
    except (ValueError, TypeError, KeyError, AttributeError, BytesError) as error:
        raise DamagedFileError(
            "not the content that Kafka writes there",
            path=path,
            remedy="correct the node in ZooKeeper, or remove it",
            expected=expected,
            found=repr(data[:_SHOWN]),
        ) from error


def _object(content: object) -> dict[str, object]:
    if not isinstance(content, dict):
        raise TypeError("not an object")
    return content


def integer(content: dict[str, object], key: str, *, default: int | None = None) -> int:
    """Return a whole number, which may be written as text; the default if the key is missing."""
    value = content[key] if default is None else content.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise TypeError(f"{key} is not a number")
    return int(value)


def text(content: dict[str, object], key: str) -> str:
    """Return a text."""
    value = content[key]
    if not isinstance(value, str):
        raise TypeError(f"{key} is not a text")
    return value


def objects(content: dict[str, object], key: str) -> list[dict[str, object]]:
    """Return the objects of a list."""
    value = content[key]
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise TypeError(f"{key} is not a list of objects")
    return value


def mapping(content: dict[str, object], key: str) -> dict[str, object]:
    """Return an object; an empty one if the key is missing."""
    value = content.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise TypeError(f"{key} is not an object")
    return value


def integers(value: object) -> tuple[int, ...]:
    """Return the whole numbers of a list."""
    if not isinstance(value, list) or not all(type(each) is int for each in value):
        raise TypeError("not a list of numbers")
    return tuple(value)
