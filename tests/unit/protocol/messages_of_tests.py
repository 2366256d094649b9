"""Messages for tests: one field of every type, in each of its forms."""

from cordwood.core.uuids import NO_UUID
from cordwood.protocol.schema import Data, Request, Struct, field
from cordwood.protocol.wire_types import (
    Bool,
    Bytes,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    Records,
    String,
    UInt16,
    UInt32,
    Uuid,
)


class Numbers(Data, versions=(0, 1), flexible_since=1):
    """A field of every fixed-size type."""

    tiny: Int8 = field(default=0)
    small: Int16 = field(default=0)
    port: UInt16 = field(default=0)
    middle: Int32 = field(default=0)
    count: UInt32 = field(default=0)
    large: Int64 = field(default=0)
    share: Float64 = field(default=0.0)
    is_so: Bool = field(default=False)
    uuid: Uuid = field(default=NO_UUID)


class Texts(Data, versions=(0, 1), flexible_since=1):
    """Strings and bytes: plain, nullable, and never compact."""

    name: String = field(default="")
    alias: String | None = field(default=None)
    blob: Bytes = field(default=b"")
    extra: Bytes | None = field(default=None)
    old: String | None = field(default="", flexible=False)


class Part(Struct):
    """Element of a list."""

    index: Int32
    note: String = field(since=1, default="")


class Lists(Data, versions=(0, 2), flexible_since=2):
    """Arrays of numbers, of strings and of structs; nullable from version 1 on."""

    numbers: list[Int32] = field(default=[])
    names: list[String] = field(default=[])
    uuids: list[Uuid] = field(default=[])
    parts: list[Part] | None = field(default=[], nullable_since=1)


class Node(Struct):
    """A struct inside a struct."""

    node_id: Int32 = field(default=-1)
    rack: String | None = field(default=None)


class Tagged(Request, api_key=900, versions=(0, 2), flexible_since=1):
    """Tagged fields, one of them since a later version."""

    index: Int32 = field(default=0)
    node: Node | None = field(default=None)
    label: String = field(tag=0, since=1, default="")
    leader: Node | None = field(tag=1, since=1, default=None)
    state: Node | None = field(tag=2, since=1, nullable_since=1)
    numbers: list[Int32] = field(tag=3, since=2, default=[])


class Produced(Request, api_key=901, versions=(0, 1), flexible_since=1):
    """A record set between two fields."""

    before: Int32 = field(default=0)
    records: Records | None = field(default=None)
    after: Int32 = field(default=0)


class Later(Data, versions=(0, 2)):
    """Fields that are added, removed, or ignorable."""

    kept: Int32
    gone: Int32 = field(until=0, default=-1)
    come: String = field(since=1, default="")
    hint: Int32 = field(since=2, default=-1, ignorable=True)
