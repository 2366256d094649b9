r"""Records as lines of text: `consume` prints the lines that `produce` reads.

    value                   a line is a value; the null marker stands for null
    key SEPARATOR value     with a separator; the key ends at the first one
    {"key": "ada", "value": "42 logs", "headers": [["from", "web"]], ...}
                            as JSON; bytes that are not UTF-8 are in Base64 (`json_bytes`)

Lines end with \n; a \r before it is dropped. JSON is lossless. Fields that brokers assign (offset,
leader epoch) are ignored when a line is read. An unknown field is rejected, and so is an object
without a value: a misspelt `value` would send a tombstone.
"""

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, NamedTuple, TypeAlias, cast

import typer

from cordwood.client.consumer.completed_fetch import ConsumedRecord
from cordwood.core.errors import BytesError, CordwoodError
from cordwood.records.record import NO_HEADERS, Header
from cordwood.records.record_lines import LABELS
from cordwood.workbench.json_bytes import Json, bytes_to_json, json_to_bytes

Consumed: TypeAlias = ConsumedRecord[bytes, bytes]


class LineError(CordwoodError):
    """A line cannot be parsed as a record."""


class LineRecord(NamedTuple):
    """A record to send; None for a partition or timestamp that the line does not contain."""

    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = NO_HEADERS
    partition: int | None = None
    timestamp_ms: int | None = None


#: The fields of a JSON object, as `write_json` writes them.
JSON_FIELDS: Final = (
    "topic",
    "partition",
    "offset",
    "timestamp",
    "timestamp_type",
    "leader_epoch",
    "key",
    "value",
    "headers",
)

LineReader: TypeAlias = Callable[[bytes], LineRecord]
LineWriter: TypeAlias = Callable[[Consumed], bytes]


@dataclass(frozen=True, slots=True)
class LineFormat:
    """The separator of key and value, and the marker of null."""

    separator: bytes | None = None
    null: bytes | None = None

    def read(self, line: bytes) -> LineRecord:
        """Return the record of a line."""
        line = line.removesuffix(b"\n").removesuffix(b"\r")
        if self.separator is None:
            return LineRecord(None, self._or_null(line))
        key, found, value = line.partition(self.separator)
        if not found:
            separator = self.separator.decode(errors="backslashreplace")
            raise LineError(f"the line has no key separator {separator!r}")
        return LineRecord(self._or_null(key), self._or_null(value))

    def write(self, record: Consumed) -> bytes:
        """Return the line of a record."""
        null = b"null" if self.null is None else self.null
        value = null if record.value is None else record.value
        if self.separator is None:
            return value + b"\n"
        return (null if record.key is None else record.key) + self.separator + value + b"\n"

    def _or_null(self, data: bytes) -> bytes | None:
        return None if data == self.null else data


def parse_line_format(separator: str | None, null: str | None) -> LineFormat:
    """Return the line format that the options describe."""
    if separator == "":
        raise typer.BadParameter("--key-separator: is empty; give at least one character")
    return LineFormat(
        None if separator is None else separator.encode(), None if null is None else null.encode()
    )


def read_json(line: bytes) -> LineRecord:
    """Return the record of a JSON object."""
    try:
        fields = json.loads(line)
    except ValueError as error:
        raise LineError(f"the line is not JSON ({error})") from None
    if not isinstance(fields, dict):
        raise LineError('the line is not a JSON object, such as {"value": "42 logs"}')
    _check_fields(fields.keys())
    return LineRecord(
        _bytes("key", fields.get("key")),
        _bytes("value", fields["value"]),
        _headers(fields.get("headers")),
        _number("partition", fields.get("partition")),
        _number("timestamp", fields.get("timestamp")),
    )


def _bytes(field: str, value: Json) -> bytes | None:
    """Return the bytes that a field represents."""
    try:
        return json_to_bytes(value)
    except (ValueError, BytesError):
        raise LineError(
            f'the field {field!r} must be text, null or {{"base64": "..."}},'
            f" and not {json.dumps(value)}"
        ) from None


def _headers(value: Json) -> tuple[Header, ...]:
    if value is None:
        return NO_HEADERS
    try:
        pairs = [(name, each) for name, each in cast("list[tuple[str, Json]]", value)]
    except (TypeError, ValueError):
        raise LineError("the field 'headers' must be a list of [name, value]") from None
    return tuple((str(name), _bytes("headers", each)) for name, each in pairs)


def _check_fields(names: Collection[str]) -> None:
    """Raise LineError for an unknown field, or without a value."""
    unknown = [name for name in names if name not in JSON_FIELDS]
    if unknown:
        near = get_close_matches(unknown[0], JSON_FIELDS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(JSON_FIELDS)}"
        raise LineError(f"the line has the unknown field {unknown[0]!r} ({hint})")
    if "value" not in names:
        raise LineError("the line has no field 'value' (a tombstone has \"value\": null)")


def _number(field: str, value: Json) -> int | None:
    if value is None or type(value) is int:
        return value
    raise LineError(f"the field {field!r} must be a whole number, and not {json.dumps(value)}")


def write_json(record: Consumed) -> bytes:
    """Return a record as one line with a JSON object."""
    fields: dict[str, Json] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "timestamp_type": LABELS[record.timestamp_type].decode(),
        "leader_epoch": record.leader_epoch,
        "key": bytes_to_json(record.key),
        "value": bytes_to_json(record.value),
        "headers": [[name, bytes_to_json(value)] for name, value in record.headers],
    }
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
