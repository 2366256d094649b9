r"""Records as lines of text, in both directions: what `consume` prints, `produce` reads.

    value                   a line is a value; the null marker stands for none
    key SEPARATOR value     with a separator; the key ends at the first one
    {"key": "ada", "value": "42 logs", "headers": [["from", "web"]], ...}
                            as JSON, where bytes that are no text are in Base64 (`spelling`)

Lines end with \n; a \r before it is no part of them. As JSON nothing is lost; what only brokers
know (offset, leader epoch) is read over.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, cast

import typer

from cordwood.client.record_set import ConsumedRecord
from cordwood.core.errors import BytesError, CordwoodError
from cordwood.records.lines import LABELS
from cordwood.records.record import NO_HEADERS, Header
from cordwood.workbench.spelling import Json, spelled, unspelled

Consumed: TypeAlias = ConsumedRecord[bytes, bytes]


class LineError(CordwoodError):
    """A line is no record."""


class Entry(NamedTuple):
    """A record that is to be sent; None where nobody says."""

    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = NO_HEADERS
    partition: int | None = None
    timestamp_ms: int | None = None


Reader: TypeAlias = Callable[[bytes], Entry]
Writer: TypeAlias = Callable[[Consumed], bytes]


@dataclass(frozen=True, slots=True)
class LineForm:
    """What stands between key and value, and what for null."""

    separator: bytes | None = None
    null: bytes | None = None

    def read(self, line: bytes) -> Entry:
        """Return the record of a line."""
        line = line.removesuffix(b"\n").removesuffix(b"\r")
        if self.separator is None:
            return Entry(None, self._or_null(line))
        key, found, value = line.partition(self.separator)
        if not found:
            separator = self.separator.decode(errors="backslashreplace")
            raise LineError(f"no key separator {separator!r}")
        return Entry(self._or_null(key), self._or_null(value))

    def write(self, record: Consumed) -> bytes:
        """Return the line of a record."""
        null = b"null" if self.null is None else self.null
        value = null if record.value is None else record.value
        if self.separator is None:
            return value + b"\n"
        return (null if record.key is None else record.key) + self.separator + value + b"\n"

    def _or_null(self, data: bytes) -> bytes | None:
        return None if data == self.null else data


def line_form(separator: str | None, null: str | None) -> LineForm:
    """Return the form of lines that was typed."""
    if separator == "":
        raise typer.BadParameter("an empty key separator separates nothing")
    return LineForm(
        None if separator is None else separator.encode(), None if null is None else null.encode()
    )


def read_json(line: bytes) -> Entry:
    """Return the record of a JSON object."""
    try:
        told = json.loads(line)
        return Entry(
            unspelled(told.get("key")),
            unspelled(told.get("value")),
            tuple((str(name), unspelled(value)) for name, value in told.get("headers") or ()),
            _number(told.get("partition")),
            _number(told.get("timestamp")),
        )
    except (AttributeError, TypeError, ValueError, BytesError) as error:
        raise LineError(f"no record as JSON ({error})") from None


def _number(value: Json) -> int | None:
    return None if value is None else int(cast("int", value))


def write_json(record: Consumed) -> bytes:
    """Return a record as a JSON object on a line of its own."""
    told: dict[str, Json] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "timestamp_type": LABELS[record.timestamp_type].decode(),
        "leader_epoch": record.leader_epoch,
        "key": spelled(record.key),
        "value": spelled(record.value),
        "headers": [[name, spelled(value)] for name, value in record.headers],
    }
    return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
