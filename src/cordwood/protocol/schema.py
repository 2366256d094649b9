"""Message declarations: a class whose fields are in wire order (Kafka: message JSON files).

    class TopicProduceData(Struct):
        name: String = field(until=12, default="")
        topic_id: Uuid = field(since=13, default=NO_UUID)
        partitions: list[PartitionProduceData]

    class ProduceRequest(Request, api_key=0, versions=(3, 13), flexible_since=9):
        topics: list[TopicProduceData]

An object has the fields of all versions. A field that a version lacks reads as its default. When
such a version is written, the field must have its default, unless it is ignorable. `X | None` is
nullable. A field without `default=` is required when an object is created; its default is the
type's zero. A struct has no versions of its own: its fields refer to the versions of its message.
"""

from collections.abc import Callable
from functools import cache, partial
from operator import attrgetter
from types import NoneType, UnionType
from typing import (
    Annotated,
    ClassVar,
    Final,
    NamedTuple,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
)

from cordwood.protocol.codegen_source import GeneratedSource
from cordwood.protocol.wire_types import FixedSizeType, LengthPrefixedType

T = TypeVar("T")
S = TypeVar("S", bound="Struct")

NEWEST: Final = 0x7FFF
_SHOWN_BYTES: Final = 32


class _Missing:
    """Type of `MISSING`, which is not a valid default."""


MISSING: Final = _Missing()


class ListOf(NamedTuple):
    """Type of an array."""

    element: "WireKind"

    @property
    def prefix(self) -> str:
        """Format of the count where it is not compact."""
        return "i"


WireKind: TypeAlias = "FixedSizeType | LengthPrefixedType | ListOf | type[Struct]"


class Field(NamedTuple):
    """One field of a struct: its type, its versions, and its encoding in each of them."""

    name: str
    kafka_name: str
    kind: WireKind
    default: object
    is_required: bool
    is_nullable: bool
    since: int
    until: int
    nullable_since: int | None
    tag: int | None
    tagged_since: int
    is_flexible: bool
    is_ignorable: bool

    def is_in(self, version: int) -> bool:
        """Return whether messages of this version have the field."""
        return self.since <= version <= self.until

    def is_tagged_in(self, version: int) -> bool:
        """Return whether the field is a tagged field in this version."""
        return self.tag is not None and version >= self.tagged_since

    def is_nullable_in(self, version: int) -> bool:
        """Return whether the field may be null in messages of this version."""
        return self.is_nullable and version >= (self.nullable_since or 0)

    def has_null_marker_in(self, version: int) -> bool:
        """Return whether a byte distinguishes a null struct from a present one.

        A tagged struct is null by being absent, unless its nullability is declared.
        """
        is_declared = self.nullable_since is not None or not self.is_tagged_in(version)
        return self.is_nullable_in(version) and is_declared


class _FieldDeclaration(NamedTuple):
    """Arguments of `field`, until the class that contains it is created."""

    default: object = MISSING
    since: int = 0
    until: int = NEWEST
    nullable_since: int | None = None
    tag: int | None = None
    tagged_since: int = 0
    flexible: bool = True
    ignorable: bool = False
    name: str | None = None


def field(  # noqa: PLR0913  # tidy: allow[parameters] the attributes of Kafka's declarations, by keyword
    *,
    default: T | _Missing = MISSING,
    since: int = 0,
    until: int = NEWEST,
    nullable_since: int | None = None,
    tag: int | None = None,
    tagged_since: int = 0,
    flexible: bool = True,
    ignorable: bool = False,
    name: str | None = None,
) -> T:
    """Declare a field's attributes; versions are first and last, inclusive.

    `flexible=False` keeps the non-compact encoding in flexible versions. `name` is Kafka's name, if
    it is not the attribute's name in camel case.
    """
    declared: object = _FieldDeclaration(
        default, since, until, nullable_since, tag, tagged_since, flexible, ignorable, name
    )
    return cast("T", declared)  # the metaclass replaces it with a slot of that type


class Schema(NamedTuple):
    """Declaration of a class."""

    fields: tuple[Field, ...]
    api_key: int | None = None
    versions: tuple[int, int] = (0, NEWEST)
    flexible_since: int | None = None

    def is_flexible_in(self, version: int) -> bool:
        """Return whether messages of this version are compact and have tagged fields."""
        return self.flexible_since is not None and version >= self.flexible_since


class StructType(type):
    """Metaclass that turns annotations into slots; a class with `__slots__` has no fields."""

    __schema__: Schema

    def __new__(
        cls, name: str, bases: tuple[type, ...], namespace: dict[str, object], **options: object
    ) -> "StructType":
        fields: tuple[Field, ...] = ()
        if "__slots__" not in namespace:
            # A throwaway class evaluates the annotations, whose form depends on Python's version.
            annotations = type(name, (), dict(namespace)).__annotations__
            fields = tuple(
                _field(each, annotation, namespace.pop(each, _FieldDeclaration()))
                for each, annotation in annotations.items()
            )
            namespace["__slots__"] = tuple(annotations)
            namespace["__init__"] = _init_on_first_use
        namespace["__schema__"] = Schema(fields)
        return super().__new__(cls, name, bases, namespace, **options)


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
class Struct(metaclass=StructType):
    """Group of fields, compared by value; repr shows the fields that differ from their defaults."""

    __slots__ = ("unknown_tags",)
    __hash__: ClassVar[None]  # type: ignore[assignment]  # mutable, so not hashable

    unknown_tags: tuple[tuple[int, bytes], ...]
    """Undeclared tagged fields that were read, as tag and bytes; they are written unchanged."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        values = _values_of(type(self))
        return bool(values(self) == values(other))

    def __repr__(self) -> str:
        shown = [
            f"{each.name}={_repr_of(value)}"
            for each in type(self).__schema__.fields
            if (value := getattr(self, each.name)) != default_of(each) or each.is_required
        ]
        if self.unknown_tags:
            shown.append(f"unknown_tags={self.unknown_tags}")
        return f"{type(self).__name__}({', '.join(shown)})"


class Message(Struct):
    """Struct with versions of its own: the unit of encoding."""

    __slots__ = ()

    def __init_subclass__(
        cls,
        *,
        versions: tuple[int, int] = (0, NEWEST),
        flexible_since: int | None = None,
        api_key: int | None = None,
    ) -> None:
        cls.__schema__ = cls.__schema__._replace(
            versions=versions, flexible_since=flexible_since, api_key=api_key
        )


class Request(Message):
    """Request of a client, or of another broker."""

    __slots__ = ()


class Response(Message):
    """Response of a broker."""

    __slots__ = ()


class Data(Message):
    """Message that is neither request nor response, such as a header or an internal record."""

    __slots__ = ()


def default_of(field: Field) -> object:
    """Return a field's default; a list or a struct is a new object."""
    if isinstance(field.default, list):
        return list(field.default)
    if isinstance(field.kind, type) and field.default is not None:
        return default_struct(field.kind)
    return field.default


def default_struct(kind: type[S]) -> S:
    """Return a struct with the default of every field."""
    made = object.__new__(kind)
    for each in kind.__schema__.fields:
        setattr(made, each.name, default_of(each))
    made.unknown_tags = ()
    return made


def _field(name: str, annotation: object, declared: object) -> Field:
    """Return the field for an annotation and its `field` declaration."""
    if not isinstance(declared, _FieldDeclaration):
        raise TypeError(f"{name}: a default is given as field(default=...)")
    kind, is_nullable = _kind(annotation)
    default = declared.default
    if default is MISSING:
        default = _zero(kind)
    return Field(
        name=name,
        kafka_name=declared.name or "".join(part.title() for part in name.split("_")),
        kind=kind,
        default=default,
        is_required=declared.default is MISSING,
        is_nullable=is_nullable,
        since=declared.since,
        until=declared.until,
        nullable_since=declared.nullable_since,
        tag=declared.tag,
        tagged_since=declared.tagged_since,
        is_flexible=declared.flexible,
        is_ignorable=declared.ignorable,
    )


def _kind(annotation: object) -> tuple[WireKind, bool]:
    """Return the wire type, and whether it is nullable."""
    origin = get_origin(annotation)
    if origin is Union or origin is UnionType:
        kinds = [_kind(each)[0] for each in get_args(annotation) if each is not NoneType]
        return kinds[0], True
    if isinstance(annotation, type) and issubclass(annotation, Struct):
        return annotation, False
    if origin is list:
        return ListOf(_kind(get_args(annotation)[0])[0]), False
    if origin is Annotated:
        kind = get_args(annotation)[1]
        assert isinstance(kind, FixedSizeType | LengthPrefixedType)
        return kind, False
    raise TypeError(f"{annotation} is not a wire type")


def _zero(kind: WireKind) -> object:
    """Return the default of a type; a struct's class stands for a new default struct."""
    if isinstance(kind, ListOf):
        return []
    return kind.default if isinstance(kind, FixedSizeType | LengthPrefixedType) else kind


def default_source(field: Field, source: GeneratedSource) -> str:
    """Return the expression of `default_of` for generated source."""
    if isinstance(field.kind, type) and field.default is not None:
        return f"{source.constant('default', partial(default_struct, field.kind))}()"
    return repr(field.default)


def compile_inits(kind: type[Struct]) -> None:
    """Compile `__init__` of a message and of its structs, which otherwise their first use does."""
    if kind.__init__ is _init_on_first_use:
        kind.__init__ = _compiled_init(kind)  # type: ignore[method-assign]  # same effect, compiled
    for each in kind.__schema__.fields:
        of = each.kind
        while isinstance(of, ListOf):
            of = of.element
        if isinstance(of, type):
            compile_inits(of)


def _init_on_first_use(self: Struct, **fields: object) -> None:
    """Compile the class's own `__init__` on first use: most classes are only decoded."""
    kind = type(self)
    made = _compiled_init(kind)
    kind.__init__ = made  # type: ignore[method-assign]  # same effect, compiled
    made(self, **fields)


def _compiled_init(kind: type[Struct]) -> Callable[..., None]:
    """Return an `__init__` with one assignment per field, several times as fast as a loop."""
    source = GeneratedSource({"MISSING": MISSING})
    fields = kind.__schema__.fields
    parameters = [each.name if each.is_required else f"{each.name}=MISSING" for each in fields]
    with source.block(f"def __init__({', '.join(['self', *['*'][: len(fields)], *parameters])}):"):
        for each in fields:
            value = each.name
            if not each.is_required:
                value = f"{default_source(each, source)} if {value} is MISSING else {value}"
            source.line(f"self.{each.name} = {value}")
        source.line("self.unknown_tags = ()")
    made = source.compiled("__init__", f"{kind.__name__}.__init__")
    return cast("Callable[..., None]", made)


@cache
def _values_of(kind: StructType) -> Callable[[object], object]:
    """Return a function that returns the values of all fields of an object."""
    return attrgetter(*(each.name for each in kind.__schema__.fields), "unknown_tags")


def _repr_of(value: object) -> str:
    """Return a value as text; large bytes as their size."""
    if isinstance(value, bytes | bytearray | memoryview) and len(value) > _SHOWN_BYTES:
        return f"<{len(value)} bytes>"
    if isinstance(value, memoryview):
        return repr(bytes(value))
    return repr(value)
