"""The most expensive legal requests of each API and version, of a given number of elements.

A request is made from its schema: one list of it, at any depth, has all the elements. `SHAPES` are
the values of the elements:

    repeated    the same topic, partition, broker or key in each element
    unknown     in each element another name or id that does not exist

Other fields have their defaults, or those of `_VALUES`, which ask for the largest response.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from cordwood.client.network.in_flight_requests import InFlightRequests
from cordwood.core.uuids import Uuid
from cordwood.protocol.apis import api_of
from cordwood.protocol.codec import joined
from cordwood.protocol.schema import Field, ListOf, Request, Struct, WireKind, default_of
from cordwood.protocol.wire_types import STRING, UUID
from tests.unit.storage.log_samples import batch

SHAPES: Final = ("repeated", "unknown")
TOPIC: Final = "bombed"
#: The values of fields by name, for all APIs.
_VALUES: Final[Mapping[str, object]] = MappingProxyType(
    {
        "acks": 1,
        "allow_auto_topic_creation": False,
        "current_leader_epoch": -1,
        "endpoint_type": 1,
        "fetch_offset": 0,
        "include_documentation": True,
        "include_synonyms": True,
        "isolation_level": 0,
        "leader_epoch": 0,
        "max_bytes": 1 << 20,
        "max_wait_ms": 0,
        "min_bytes": 1,
        "num_partitions": 1,
        "partition_max_bytes": 1,
        "producer_epoch": -1,
        "producer_id": -1,
        "replica_id": -1,
        "replication_factor": 1,
        "resource_type": 4,
        "response_partition_limit": 1 << 30,
        "session_epoch": 0,
        "timeout_ms": 1_000,
        "records": batch(),
        "timestamp": -1,
        "transactional_id": None,
        "validate_only": True,
    }
)
_INDEXES: Final = frozenset({"partition", "partition_index", "index"})


@dataclass(frozen=True, slots=True)
class Bomb:
    """One request: its API, version and shape, and the list that has the elements."""

    api: str
    version: int
    shape: str
    place: str
    frame: bytes

    @property
    def name(self) -> str:
        return f"{self.api} v{self.version}, {self.shape} {self.place}"


def bombs(
    api_key: int,
    version: int,
    elements: int,
    *,
    node_id: int = 1,
    values: Mapping[str, object] = MappingProxyType({}),
) -> Iterator[Bomb]:
    """Yield the requests of one version: each of its lists with each shape.

    `values` replace those of fields by name.
    """
    api = api_of(api_key)
    kind = api.request()
    for place in _places(kind, version):
        for shape in SHAPES:
            maker = _Maker(version, place, shape, elements=elements, node_id=node_id, values=values)
            request = maker.struct(kind, 0)
            assert isinstance(request, Request)
            name = ".".join(place) or "request"
            yield Bomb(api.name, version, shape, name, frame(request, version))


def frame(request: Request, version: int) -> bytes:
    """Return the bytes that a client sends."""
    return joined(InFlightRequests("bomber").add(request, version)[1])


def _places(kind: type[Struct], version: int) -> list[tuple[str, ...]]:
    """Return the lists of a message, as paths of names; of one without lists the message."""
    return [*_lists(kind, version)] or [()]


def _lists(kind: type[Struct], version: int) -> Iterator[tuple[str, ...]]:
    for field in kind.__schema__.fields:
        if not field.is_in(version) or not isinstance(field.kind, ListOf):
            continue
        yield (field.name,)
        if isinstance(field.kind.element, type):
            for deeper in _lists(field.kind.element, version):
                yield (field.name, *deeper)


class _Maker:
    """Makes the structs of one request."""

    def __init__(  # tidy: allow[parameters] a request and its values
        self,
        version: int,
        place: tuple[str, ...],
        shape: str,
        *,
        elements: int,
        node_id: int,
        values: Mapping[str, object],
    ) -> None:
        self._version = version
        self._place = place
        self._is_repeated = shape == "repeated"
        self._elements = elements
        self._node_id = node_id
        self._values = {
            **_VALUES,
            "resource_name": str(node_id),
            "broker_ids": node_id,
            **values,
        }

    def struct(self, kind: type[Struct], number: int, path: tuple[str, ...] = ()) -> Struct:
        """Return a struct that is the element `number` of its list."""
        made = object.__new__(kind)
        made.unknown_tags = ()
        for field in kind.__schema__.fields:
            setattr(made, field.name, self._value(field, number, path))
        return made

    def _value(self, field: Field, number: int, path: tuple[str, ...]) -> object:
        if not field.is_in(self._version):
            return default_of(field)
        kind = field.kind
        if isinstance(kind, ListOf):
            return self._list(field, kind, (*path, field.name))
        if kind is STRING and self._is_name(field, number):
            return self._text(field.name, number)
        index = 0 if self._is_repeated else number
        if kind is UUID:
            return Uuid(index.to_bytes(16))
        if field.name in _INDEXES:
            return index
        value = self._values.get(field.name, default_of(field))
        return "bomb" if value is None and not field.is_nullable else value

    def _is_name(self, field: Field, number: int) -> bool:
        is_given = field.name in self._values and (self._is_repeated or number == 0)
        return field.is_required and not is_given

    def _text(self, name: str, number: int) -> str:
        if name == "name" and self._is_config():
            return "retention.ms" if self._is_repeated else f"unknown.{number}"
        if name == "client_software_name":
            return "bomber"
        return TOPIC if self._is_repeated else f"unknown-{number}"

    def _is_config(self) -> bool:
        return "configs" in self._place

    def _list(self, field: Field, kind: ListOf, path: tuple[str, ...]) -> list[object] | None:
        if path == self._place:
            return [self._element(kind.element, number, path) for number in range(self._elements)]
        if path == self._place[: len(path)]:
            return [self._element(kind.element, 0, path)]
        if field.name == "configuration_keys":
            return None
        is_leaf = self._place == path[:-1] and field.name in {"partitions", "partition_indexes"}
        return [self._element(kind.element, 0, path)] if is_leaf else []

    def _element(self, kind: WireKind, number: int, path: tuple[str, ...]) -> object:
        if isinstance(kind, type):
            return self.struct(kind, number, path)
        if kind is STRING:
            return TOPIC if self._is_repeated else f"unknown-{number}"
        if path[-1] in {"broker_ids", "replicas"}:
            return self._node_id
        if path[-1] == "resource_types":
            return 2
        return 0 if self._is_repeated else number
