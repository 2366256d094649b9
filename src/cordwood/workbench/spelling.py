"""How bytes are spelled in JSON, which has none: as text where they are UTF-8, in Base64 where not.

null                    null
{"base64": "/w=="}      a byte that is no text
"ada"                   every other
"""

from base64 import b64decode, b64encode
from typing import TypeAlias

from cordwood.core.errors import BytesError

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | bool | None"


def spelled(data: bytes | None) -> Json:
    """Return bytes as JSON can hold them."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(data).decode()}


def unspelled(value: Json) -> bytes | None:
    """Return the bytes that were spelled so."""
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, dict) and list(value) == ["base64"]:
        return b64decode(str(value["base64"]), validate=True)
    raise BytesError(
        "bytes are misspelled",
        position=0,
        expected='text, null or {"base64": "..."}',
        found=repr(value),
    )
