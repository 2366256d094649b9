"""Reader of the golden files: one file per message module, one block per message and version.

    ProduceRequest v8               class and version
      {"acks": 1, "topics": []}     its fields as JSON; bytes and UUIDs are hexadecimal strings
    = ffff 0001 00000000            its bytes, one hexadecimal group per field

The JSON omits fields with their defaults. The bytes follow Kafka's message definitions.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, cast

from cordwood.protocol.schema import ListOf, Message, WireKind
from cordwood.protocol.wire_types import STRING, UUID, LengthPrefixedType

FOLDER = Path(__file__).parent / "golden"

_BLOCK = re.compile(r"(?P<name>\w+) v(?P<version>\d+)\n(?P<fields>.*?)\n=(?P<wire>.*)", re.DOTALL)


class GoldenCase(NamedTuple):
    """One version of a message: its fields and its bytes."""

    module: str
    name: str
    version: int
    fields: dict[str, object]
    wire: bytes


def golden_cases() -> Iterator[GoldenCase]:
    """Yield the cases of all files, in their order."""
    for path in sorted(FOLDER.glob("*.txt")):
        for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
            found = _BLOCK.fullmatch(block)
            assert found is not None, f"{path.name}: not a case: {block}"
            fields = cast("dict[str, object]", json.loads(found["fields"]))
            wire = bytes.fromhex(found["wire"])
            yield GoldenCase(path.stem, found["name"], int(found["version"]), fields, wire)


def build(kind: type[Message], fields: dict[str, object]) -> Message:
    """Return the message with these fields."""
    return cast("Message", _value(fields, kind))


def _value(given: object, kind: WireKind) -> object:
    if given is None:
        return None
    if isinstance(kind, ListOf):
        return [_value(each, kind.element) for each in cast("list[object]", given)]
    if isinstance(kind, type):
        kinds = {field.name: field.kind for field in kind.__schema__.fields}
        fields = cast("dict[str, object]", given)
        return kind(**{name: _value(each, kinds[name]) for name, each in fields.items()})
    if kind is UUID or (isinstance(kind, LengthPrefixedType) and kind is not STRING):
        return bytes.fromhex(cast("str", given))
    return given
