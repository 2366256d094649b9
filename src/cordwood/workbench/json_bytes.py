"""Bytes as JSON values: text if they are UTF-8, otherwise Base64.

null                    null
{"base64": "/w=="}      bytes that are not UTF-8
"ada"                   all other bytes
"""

from base64 import b64decode, b64encode
from typing import TypeAlias

from cordwood.core.errors import BytesError

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | bool | None"


def bytes_to_json(data: bytes | None) -> Json:
    """Return the JSON value of bytes."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(data).decode()}


def json_to_bytes(value: Json) -> bytes | None:
    """Return the bytes that were bytes_to_json so."""
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, dict) and list(value) == ["base64"]:
        return b64decode(str(value["base64"]), validate=True)
    raise BytesError(
        "the JSON value does not represent bytes",
        position=0,
        expected='text, null or {"base64": "..."}',
        found=repr(value),
    )
