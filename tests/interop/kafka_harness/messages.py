"""Messages of every kind and version: as our objects, and as the JSON that Kafka's classes read."""

from collections.abc import Iterator
from itertools import count
from typing import Final, cast

from cordwood.core.uuids import Uuid, format_uuid
from cordwood.protocol.apis import APIS
from cordwood.protocol.messages import internal
from cordwood.protocol.schema import Data, Field, ListOf, Message, Struct, WireKind, default_of
from cordwood.protocol.wire_types import FixedSizeType
from tests.interop.kafka_harness.spec import Json, text

VALUES: Final[dict[str, object]] = {
    "bool": True,
    "bytes": b"\x01\x02",
    "float64": 1.5,
    "records": b"opaque",
    "string": "naïve",
    "uuid": Uuid(bytes(range(16))),
}


def kinds() -> Iterator[type[Message]]:
    """Every message that is declared."""
    for api in APIS.values():
        yield api.request()
        yield api.response()
    for each in vars(internal).values():
        if isinstance(each, type) and issubclass(each, Data) and each is not Data:
            yield each


class Samples:
    """Messages of which no two numbers are the same, so that a field in a wrong place is seen."""

    def __init__(self, version: int, *, with_nulls: bool) -> None:
        self._version = version
        self._with_nulls = with_nulls
        self._numbers = count(1)

    def of(self, kind: type[Struct]) -> Struct:
        """A struct in which what the version has is set, and the rest is the default."""
        fields = kind.__schema__.fields
        return kind(
            **{
                each.name: self._value(each) if each.is_in(self._version) else default_of(each)
                for each in fields
            }
        )

    def _value(self, field: Field) -> object:
        is_nullable = field.is_nullable_in(self._version)
        if self._with_nulls and is_nullable:
            return None
        return self._of_kind(field.kind)

    def _of_kind(self, kind: WireKind) -> object:
        if isinstance(kind, ListOf):
            return [self._of_kind(kind.element)]
        if isinstance(kind, type):
            return self.of(kind)
        return VALUES[kind.name] if kind.name in VALUES else next(self._numbers)


def sample(kind: type[Message], version: int, *, with_nulls: bool) -> Message:
    """A message of one version, with null wherever it may be, or nowhere."""
    return cast("Message", Samples(version, with_nulls=with_nulls).of(kind))


def as_json(struct: Struct, version: int) -> dict[str, Json]:
    """Return the JSON of a struct for Kafka's converter; an absent tag is omitted."""
    found: dict[str, Json] = {}
    for field in type(struct).__schema__.fields:
        value = getattr(struct, field.name)
        is_absent = value is None and isinstance(field.kind, type)
        is_absent = is_absent and not field.has_null_marker_in(version)
        if field.is_in(version) and not is_absent:
            name = field.kafka_name[0].lower() + field.kafka_name[1:]
            found[name] = _json(field.kind, value, version)
    return found


def _json(kind: WireKind, value: object, version: int) -> Json:
    if isinstance(value, list):
        assert isinstance(kind, ListOf)
        return [_json(kind.element, each, version) for each in value]
    if isinstance(value, Struct):
        return as_json(value, version)
    if isinstance(value, bytes):
        is_uuid = isinstance(kind, FixedSizeType)
        return format_uuid(Uuid(value)) if is_uuid else text(value)
    assert value is None or isinstance(value, str | int | float)
    return value


def kafkas_class(kind: type[Message]) -> str:
    """The Java class of a message."""
    name = kind.__name__
    if name.startswith("TransactionLog"):
        return f"org.apache.kafka.coordinator.transaction.generated.{name}"
    if issubclass(kind, Data) and not name.startswith("ConsumerProtocol"):
        return f"org.apache.kafka.coordinator.group.generated.{name}"
    suffix = "" if issubclass(kind, Data) else "Data"
    return f"org.apache.kafka.common.message.{name}{suffix}"
