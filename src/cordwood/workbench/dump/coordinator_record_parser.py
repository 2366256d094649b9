"""Records of the internal topics as JSON (Kafka: `DumpLogSegments.CoordinatorRecordMessageParser`).

    key: {"type":"1","data":{"group":"g","topic":"t","partition":0}} payload: {"version":"4",...}

A tombstone is `<DELETE>`. A record of an unknown type has a remark instead of its key, and no
value; so has a record that cannot be read. Members of classic groups with the protocol type
`consumer` have their subscription and assignment decoded, where possible.
"""

from base64 import b64decode
from collections.abc import Mapping
from typing import Final, NamedTuple

from cordwood.core.errors import BytesError, InvalidRecordError
from cordwood.protocol.codec import decode
from cordwood.protocol.messages.internal import (
    GROUP_RECORDS,
    TRANSACTION_RECORDS,
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    GroupMetadataValue,
    OffsetCommitValue,
)
from cordwood.protocol.schema import Data
from cordwood.workbench.dump.message_json import json_text, message_to_json
from cordwood.workbench.json_bytes import Json

_DELETE: Final = "<DELETE>"
_CONSUMER: Final = "consumer"
#: Kafka 4.3 reads the values of early offset commits, key type 0, in this version only.
_EARLY_OFFSET_COMMIT: Final = 0
#: Types of share groups and streams groups, which no broker of ours writes yet.
_UNDECODED: Final = frozenset((*range(9, 16), *range(17, 24)))
_VERSION_BYTES: Final = 2


class ParsedRecord(NamedTuple):
    """Key and value of a record as JSON; a remark instead of the key is text."""

    key: Json
    value: Json

    def texts(self) -> tuple[bytes, bytes | None]:
        """Return key and value as the dump prints them."""
        return _text(self.key), None if self.value is None else _text(self.value)


class CoordinatorRecordParser:
    """Parser of the records of one internal topic."""

    def __init__(
        self,
        records: Mapping[int, tuple[type[Data], type[Data]]],
        *,
        undecoded: frozenset[int] = frozenset(),
    ) -> None:
        self._records = records
        self._undecoded = undecoded

    def texts(
        self, offset: int, *, key: bytes | None, value: bytes | None
    ) -> tuple[bytes, bytes | None]:
        """Return the texts of key and value; InvalidRecordError without a key, as in Kafka."""
        return self.parse(offset, key=key, value=value).texts()

    def parse(self, offset: int, *, key: bytes | None, value: bytes | None) -> ParsedRecord:
        """Return a record as JSON; InvalidRecordError without a key, as in Kafka."""
        if key is None:
            raise InvalidRecordError(
                f"the record at offset {offset} cannot be decoded", expected="a key", found="null"
            )
        try:
            return self._parse(offset, key, value)
        except _UnreadableRecordError as error:
            return ParsedRecord(f"Error at offset {offset}, skipping. {error}", None)

    def _parse(self, offset: int, key: bytes, value: bytes | None) -> ParsedRecord:
        record_type = _version_of(key, "key")
        if record_type in self._undecoded:
            raise _UnreadableRecordError(f"Type {record_type} is not decoded by this version.")
        kinds = self._records.get(record_type)
        if kinds is None:
            remark = f"Unknown record type {record_type} at offset {offset}, skipping."
            return ParsedRecord(remark, None)
        return _parse(record_type, kinds, key, value)


OFFSETS_PARSER: Final = CoordinatorRecordParser(GROUP_RECORDS, undecoded=_UNDECODED)
TRANSACTION_LOG_PARSER: Final = CoordinatorRecordParser(TRANSACTION_RECORDS)


class _UnreadableRecordError(Exception):
    """The reason why a record has a remark instead of its contents."""


def _parse(
    record_type: int, kinds: tuple[type[Data], type[Data]], key: bytes, value: bytes | None
) -> ParsedRecord:
    """Return the JSON of a record of a known type."""
    parsed = _read(kinds[0], key, 0, "key")
    shown: Json = {"type": str(record_type), "data": message_to_json(parsed, 0)}
    if value is None:
        return ParsedRecord(shown, _DELETE)
    version = _version_of(value, "value")
    first, last = kinds[1].__schema__.versions
    if record_type == _EARLY_OFFSET_COMMIT and kinds[1] is OffsetCommitValue:
        last = 0
    if not first <= version <= last:
        raise _UnreadableRecordError(
            f"Found an unknown record version {version} for {record_type} type"
        )
    message = _read(kinds[1], value, version, "value")
    data = message_to_json(message, version)
    if isinstance(message, GroupMetadataValue) and message.protocol_type == _CONSUMER:
        data["members"] = [_member(each) for each in _objects(data["members"])]
    return ParsedRecord(shown, {"version": str(version), "data": data})


def _version_of(data: bytes, part: str) -> int:
    """Return the number before the fields: the type of a key, the version of a value."""
    if len(data) < _VERSION_BYTES:
        raise _UnreadableRecordError(f"Could not read version from {part}'s buffer.")
    return int.from_bytes(data[:_VERSION_BYTES], signed=True)


def _read(kind: type[Data], data: bytes, version: int, part: str) -> Data:
    try:
        return decode(kind, memoryview(data)[_VERSION_BYTES:], version)
    except BytesError as error:
        raise _UnreadableRecordError(
            f"Could not read record with version {version} from {part}'s buffer due to: {error}."
        ) from error


def _objects(value: Json) -> list[dict[str, Json]]:
    assert isinstance(value, list)
    return [each for each in value if isinstance(each, dict)]


def _member(member: dict[str, Json]) -> dict[str, Json]:
    """Return a member whose subscription and assignment are decoded, where possible."""
    shown = dict(member)
    for name, kind in (
        ("subscription", ConsumerProtocolSubscription),
        ("assignment", ConsumerProtocolAssignment),
    ):
        data = b64decode(str(member[name]))
        decoded = _embedded(kind, data)
        if decoded is not None:
            shown[name] = decoded
    return shown


def _embedded(kind: type[Data], data: bytes) -> Json:
    """Return a blob of the consumer protocol as JSON, None if it cannot be read."""
    first, last = kind.__schema__.versions
    try:
        version = _version_of(data, "blob")
        if not first <= version <= last:
            return None
        return message_to_json(_read(kind, data, version, "blob"), version)
    except _UnreadableRecordError:
        return None


def _text(value: Json) -> bytes:
    text = value if isinstance(value, str) else json_text(value)
    return text.encode("utf-8", "replace")
