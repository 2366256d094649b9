"""Control records, which a coordinator or a quorum writes into a log (Kafka: `ControlRecordType`).

    key      i16 version (0) | i16 type
    value    types 0 ABORT and 1 COMMIT:  i16 version (0) | i32 coordinator epoch
             the others, written by KRaft, in Kafka's flexible encoding:
             2 LEADER_CHANGE    i16 version | i32 leader | [voter] | [granting voter]
                                voter: i32 id, from version 1 on uuid of its directory
             3 SNAPSHOT_HEADER  i16 version | i64 timestamp of the last record in the snapshot
             4 SNAPSHOT_FOOTER  i16 version
             5 KRAFT_VERSION    i16 version | i16 kraft version
             6 KRAFT_VOTERS     i16 version | [voter]
                                voter: i32 id | uuid | [endpoint] | i16 lowest, i16 highest version
                                endpoint: string name | string host | u16 port

In the flexible encoding an array or a string begins with its length + 1 as an unsigned varint.
Every structure ends with tagged fields, which are skipped: a count, then tag, size, bytes.

    example  a COMMIT of coordinator epoch 9: key 0000 0001, value 0000 00000009

Of higher versions the known fields are read, as in Kafka.
"""

from collections.abc import Callable
from enum import IntEnum
from struct import Struct
from typing import Final, NamedTuple, TypeAlias

from cordwood.core.binary import Buffer
from cordwood.core.errors import BytesError, InvalidRecordError
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.compression import Codec
from cordwood.records.flexible_fields import FlexibleReader, FlexibleWriter
from cordwood.records.record import Record

#: Kafka's `Uuid.ZERO_UUID`, the id of a thing without an id.
NO_DIRECTORY: Final = bytes(16)

_KEY: Final = Struct(">hh")
_MARKER: Final = Struct(">hi")
#: An uncompressed batch of one marker: the header, the attributes and the record count in it, then
#: lengths and deltas of the record, key, length of the value, value, no headers.
_PLAIN_MARKER: Final = Struct(">21xh34xi5shhBhiB")
_PLAIN_RECORD: Final = b"\x20\0\0\0\x08"
_PLAIN_VALUE: Final = 12
_CODEC_BITS: Final = 7


class ControlType(IntEnum):
    """The types of control records, by their number in the key."""

    UNKNOWN = -1
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


class EndTransaction(NamedTuple):
    """The marker that commits or aborts a transaction (Kafka: `EndTransactionMarker`)."""

    is_commit: bool
    coordinator_epoch: int


class QuorumVoter(NamedTuple):
    """A voter of a leader change; its directory id exists from version 1 on."""

    voter_id: int
    directory_id: bytes | None = None


class LeaderChange(NamedTuple):
    """The first record of a leader's epoch."""

    leader_id: int
    voters: tuple[QuorumVoter, ...]
    granting_voters: tuple[QuorumVoter, ...]
    version: int = 0


class SnapshotHeader(NamedTuple):
    """The first record of a snapshot."""

    last_contained_log_timestamp: int
    version: int = 0


class SnapshotFooter(NamedTuple):
    """The last record of a snapshot."""

    version: int = 0


class KRaftVersion(NamedTuple):
    """The version of the quorum's protocol from here on."""

    kraft_version: int
    version: int = 0


class Endpoint(NamedTuple):
    """A voter's listener."""

    name: str
    host: str
    port: int


class Voter(NamedTuple):
    """A voter of the quorum with its supported protocol versions."""

    voter_id: int
    directory_id: bytes
    endpoints: tuple[Endpoint, ...]
    min_supported_version: int
    max_supported_version: int


class Voters(NamedTuple):
    """The voters of the quorum from here on."""

    voters: tuple[Voter, ...]
    version: int = 0


KRaftControl: TypeAlias = LeaderChange | SnapshotHeader | SnapshotFooter | KRaftVersion | Voters
Control: TypeAlias = EndTransaction | KRaftControl


def control_type(key: bytes | None) -> ControlType:
    """Return the type in a control record's key; UNKNOWN for an unlisted number."""
    if key is None or len(key) < _KEY.size:
        raise InvalidRecordError(
            "a control key that is too short",
            expected=_KEY.size,
            found="null" if key is None else len(key),
        )
    version, number = _KEY.unpack_from(key)
    if version < 0:
        raise InvalidRecordError("a control key's version", expected="at least 0", found=version)
    return ControlType(number) if number in _TYPES else ControlType.UNKNOWN


def read_control(record: Record) -> Control | None:
    """Return the decoded control record, None for an unknown type."""
    kind = control_type(record.key)
    value = record.value or b""
    if kind is ControlType.UNKNOWN:
        return None
    if kind in {ControlType.ABORT, ControlType.COMMIT}:
        return _read_marker(kind, value)
    try:
        return _READERS[kind](FlexibleReader(value))
    except BytesError as error:
        raise InvalidRecordError(
            f"a control record of type {kind.name}: {error.what}",
            expected=error.expected,
            found=error.found,
        ) from error


def control_key(kind: ControlType) -> bytes:
    """Return the key of a control record."""
    return _KEY.pack(0, kind)


def control_value(control: Control) -> bytes:
    """Return the value of a control record."""
    if isinstance(control, EndTransaction):
        marker = FlexibleWriter()
        marker.i16(0)
        marker.i32(control.coordinator_epoch)
        return bytes(marker.data)
    out = FlexibleWriter()
    out.i16(control.version)
    match control:
        case LeaderChange():
            out.i32(control.leader_id)
            _write_quorum(out, control.voters, control.version)
            _write_quorum(out, control.granting_voters, control.version)
        case SnapshotHeader():
            out.i64(control.last_contained_log_timestamp)
        case KRaftVersion():
            out.i16(control.kraft_version)
        case Voters():
            _write_voters(out, control.voters)
        case _:
            pass  # the footer of a snapshot has no further fields
    out.no_tags()
    return bytes(out.data)


def control_batch(control: Control, fields: BatchFields, *, timestamp: int) -> bytearray:
    """Return a batch of one control record, uncompressed regardless of the fields.

    The marker of a transaction needs its producer.
    """
    is_marker = isinstance(control, EndTransaction)
    fields = fields._replace(codec=Codec.NONE, is_control=True, is_transactional=is_marker)
    builder = BatchBuilder(fields)
    builder.append(control_key(_type_of(control)), control_value(control), timestamp=timestamp)
    return builder.build()


def read_plain_marker(batch: Buffer) -> EndTransaction | None:
    """Return the marker of a control batch as `control_batch` builds it, None for another form.

    Each append of a marker reads it several times. This takes a fiftieth of a read of its record.
    """
    if len(batch) != _PLAIN_MARKER.size:
        return None
    attributes, count, record, *key, size, version, epoch, headers = _PLAIN_MARKER.unpack(batch)
    is_plain = not attributes & _CODEC_BITS and count == 1 and record == _PLAIN_RECORD
    if not is_plain or (size, headers) != (_PLAIN_VALUE, 0) or version < 0:
        return None
    if key not in (_ABORT_KEY, _COMMIT_KEY):
        return None
    return EndTransaction(key == _COMMIT_KEY, epoch)


_ABORT_KEY: Final = [0, ControlType.ABORT]
_COMMIT_KEY: Final = [0, ControlType.COMMIT]


def _type_of(control: Control) -> ControlType:
    if isinstance(control, EndTransaction):
        return ControlType.COMMIT if control.is_commit else ControlType.ABORT
    return _KRAFT_TYPES[type(control)]


def _read_marker(kind: ControlType, value: bytes) -> EndTransaction:
    if len(value) < _MARKER.size:
        raise InvalidRecordError(
            "a transaction marker that is too short", expected=_MARKER.size, found=len(value)
        )
    version, coordinator_epoch = _MARKER.unpack_from(value)
    if version < 0:
        raise InvalidRecordError(
            "a transaction marker's version", expected="at least 0", found=version
        )
    return EndTransaction(kind is ControlType.COMMIT, coordinator_epoch)


def _read_leader_change(reader: FlexibleReader) -> LeaderChange:
    version, leader_id = reader.i16(), reader.i32()
    voters = _read_quorum(reader, version)
    return LeaderChange(leader_id, voters, _read_quorum(reader, version), version)


def _read_quorum(reader: FlexibleReader, version: int) -> tuple[QuorumVoter, ...]:
    def read_voter() -> QuorumVoter:
        voter = QuorumVoter(reader.i32(), reader.uuid() if version >= 1 else None)
        reader.tags()
        return voter

    return reader.array(read_voter)


def _write_quorum(out: FlexibleWriter, voters: tuple[QuorumVoter, ...], version: int) -> None:
    out.length(len(voters))
    for voter in voters:
        out.i32(voter.voter_id)
        if version >= 1:
            out.uuid(voter.directory_id or NO_DIRECTORY)
        out.no_tags()


def _read_snapshot_header(reader: FlexibleReader) -> SnapshotHeader:
    version = reader.i16()
    return SnapshotHeader(reader.i64(), version)


def _read_kraft_version(reader: FlexibleReader) -> KRaftVersion:
    version = reader.i16()
    return KRaftVersion(reader.i16(), version)


def _read_voters(reader: FlexibleReader) -> Voters:
    def read_endpoint() -> Endpoint:
        endpoint = Endpoint(reader.string(), reader.string(), reader.u16())
        reader.tags()
        return endpoint

    def read_voter() -> Voter:
        voter_id, directory_id = reader.i32(), reader.uuid()
        endpoints = reader.array(read_endpoint)
        lowest, highest = reader.i16(), reader.i16()
        reader.tags()
        reader.tags()
        return Voter(voter_id, directory_id, endpoints, lowest, highest)

    version = reader.i16()
    return Voters(reader.array(read_voter), version)


def _write_voters(out: FlexibleWriter, voters: tuple[Voter, ...]) -> None:
    out.length(len(voters))
    for voter in voters:
        out.i32(voter.voter_id)
        out.uuid(voter.directory_id)
        out.length(len(voter.endpoints))
        for endpoint in voter.endpoints:
            out.string(endpoint.name)
            out.string(endpoint.host)
            out.u16(endpoint.port)
            out.no_tags()
        out.i16(voter.min_supported_version)
        out.i16(voter.max_supported_version)
        out.no_tags()  # of the versions, which are a structure of their own
        out.no_tags()


_TYPES: Final = frozenset(ControlType)
_READERS: Final[dict[ControlType, Callable[[FlexibleReader], KRaftControl]]] = {
    ControlType.LEADER_CHANGE: _read_leader_change,
    ControlType.SNAPSHOT_HEADER: _read_snapshot_header,
    ControlType.SNAPSHOT_FOOTER: lambda reader: SnapshotFooter(reader.i16()),
    ControlType.KRAFT_VERSION: _read_kraft_version,
    ControlType.KRAFT_VOTERS: _read_voters,
}
_KRAFT_TYPES: Final[dict[type[KRaftControl], ControlType]] = {
    LeaderChange: ControlType.LEADER_CHANGE,
    SnapshotHeader: ControlType.SNAPSHOT_HEADER,
    SnapshotFooter: ControlType.SNAPSHOT_FOOTER,
    KRaftVersion: ControlType.KRAFT_VERSION,
    Voters: ControlType.KRAFT_VOTERS,
}
