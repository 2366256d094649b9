"""JSON of messages as Kafka's generated converters write it (Kafka: `JsonConverterGenerator`).

    {"group":"g","topic":"orders","partition":0}

Names are in camel case, bytes are Base64, and ids have their 22 characters. A field that the
version lacks is omitted, and so is a tagged field with its default.
"""

import json
import re
from base64 import b64encode
from typing import Final

from cordwood.core.uuids import Uuid, format_uuid
from cordwood.protocol.schema import Field, ListOf, Struct, WireKind, default_of
from cordwood.protocol.wire_types import FixedSizeType
from cordwood.workbench.json_bytes import Json

#: An escape; those of control characters have digits, which Java writes in upper case.
_ESCAPE: Final = re.compile(r"\\(?:u00(..)|.)")


def message_to_json(struct: Struct, version: int) -> dict[str, Json]:
    """Return the fields that a version of the message has."""
    return {
        each.kafka_name[0].lower() + each.kafka_name[1:]: _value(each.kind, value, version)
        for each in type(struct).__schema__.fields
        if _is_written(each, value := getattr(struct, each.name), version)
    }


def json_text(value: Json) -> str:
    """Return JSON as Java's library writes it: without spaces, and only control escapes."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _ESCAPE.sub(_java_escape, text) if "\\u00" in text else text


def _java_escape(found: re.Match[str]) -> str:
    digits = found[1]
    return found[0] if digits is None else f"\\u00{digits.upper()}"


def _is_written(field: Field, value: object, version: int) -> bool:
    if not field.is_in(version):
        return False
    return not field.is_tagged_in(version) or value != default_of(field)


def _value(kind: WireKind, value: object, version: int) -> Json:
    if value is None:
        return None
    if isinstance(kind, ListOf):
        assert isinstance(value, list)
        return [_value(kind.element, each, version) for each in value]
    if isinstance(value, Struct):
        return message_to_json(value, version)
    if isinstance(value, bytes | memoryview):
        is_uuid = isinstance(kind, FixedSizeType)
        return format_uuid(Uuid(bytes(value))) if is_uuid else b64encode(value).decode()
    assert isinstance(value, str | int)
    return value
