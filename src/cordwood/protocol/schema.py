"""A message is declared once: a class whose fields stand in the order of the wire.

    class TopicProduceData(Struct):
        name: String = field(until=12, default="")
        topic_id: Uuid = field(since=13, default=NO_UUID)
        partitions: list[PartitionProduceData]

    class ProduceRequest(Request, api_key=0, versions=(3, 13), flexible_since=9):
        topics: list[TopicProduceData]

An object has the fields of all versions. What a version lacks reads as the field's default, and
must be the default when it is written, unless the field is ignorable. `X | None` is nullable.
A field without `default=` has to be given when an object is made; its default is the type's zero.
A struct has no versions of its own: those of its fields are its message's.
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

from cordwood.protocol.source import Source
from cordwood.protocol.wire import Fixed, Sized

T = TypeVar("T")
S = TypeVar("S", bound="Struct")

NEWEST: Final = 0x7FFF
_SHOWN_BYTES: Final = 32


class _Missing:
    """The one value that is nobody's default."""


MISSING: Final = _Missing()


class ListOf(NamedTuple):
    """The type of an array."""

    element: "Kind"

    @property
    def prefix(self) -> str:
        """The format of the count where it is not compact."""
        return "i"


Kind: TypeAlias = "Fixed | Sized | ListOf | type[Struct]"


class Field(NamedTuple):
    """One field of a struct: its type, the versions that have it and the forms it takes in them."""

    name: str
    kafka_name: str
    kind: Kind
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
        """Say whether messages of this version have the field."""
        return self.since <= version <= self.until

    def is_tagged_in(self, version: int) -> bool:
        """Say whether the field, where it is there, stands among the tagged ones."""
        return self.tag is not None and version >= self.tagged_since

    def is_nullable_in(self, version: int) -> bool:
        """Say whether the field may be null in messages of this version."""
        return self.is_nullable and version >= (self.nullable_since or 0)

    def has_null_marker_in(self, version: int) -> bool:
        """Say whether a byte tells a null struct from one that is there.

        A tagged struct is null by being absent, unless its nullability is declared.
        """
        is_declared = self.nullable_since is not None or not self.is_tagged_in(version)
        return self.is_nullable_in(version) and is_declared


class _Declared(NamedTuple):
    """What `field` was told, until the class that it stands in is made."""

    default: object = MISSING
    since: int = 0
    until: int = NEWEST
    nullable_since: int | None = None
    tag: int | None = None
    tagged_since: int = 0
    flexible: bool = True
    ignorable: bool = False
    name: str | None = None


def field(  # noqa: PLR0913  # tidy: allow[parameters] what Kafka says of one, by keyword
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
    """Declare what an annotation cannot say; versions are first and last, inclusive.

    `flexible=False` keeps a field in its old form in flexible versions. `name` is Kafka's, where it
    is not the attribute's in camel case.
    """
    declared: object = _Declared(
        default, since, until, nullable_since, tag, tagged_since, flexible, ignorable, name
    )
    return cast("T", declared)  # the class puts a slot of that type in its place


class Schema(NamedTuple):
    """What was declared of a class."""

    fields: tuple[Field, ...]
    api_key: int | None = None
    versions: tuple[int, int] = (0, NEWEST)
    flexible_since: int | None = None

    def is_flexible_in(self, version: int) -> bool:
        """Say whether messages of this version are compact and have tagged fields."""
        return self.flexible_since is not None and version >= self.flexible_since


class StructType(type):
    """Makes a slot of every annotation; a class that names its slots itself has no fields."""

    __schema__: Schema

    def __new__(
        cls, name: str, bases: tuple[type, ...], namespace: dict[str, object], **options: object
    ) -> "StructType":
        fields: tuple[Field, ...] = ()
        if "__slots__" not in namespace:
            # Python makes the annotations of a class, and how it does so depends on its version.
            annotations = type(name, (), dict(namespace)).__annotations__
            fields = tuple(
                _field(each, annotation, namespace.pop(each, _Declared()))
                for each, annotation in annotations.items()
            )
            namespace["__slots__"] = tuple(annotations)
            namespace["__init__"] = _first_init
        namespace["__schema__"] = Schema(fields)
        return super().__new__(cls, name, bases, namespace, **options)


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
class Struct(metaclass=StructType):
    """A group of fields. Equal when all of them are; shows those that were not left out."""

    __slots__ = ("unknown_tags",)
    __hash__: ClassVar[None]  # type: ignore[assignment]  # its fields change

    unknown_tags: tuple[tuple[int, bytes], ...]
    """Tagged fields that were read and are not declared: tag and bytes, written again as read."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        values = _values_of(type(self))
        return bool(values(self) == values(other))

    def __repr__(self) -> str:
        shown = [
            f"{each.name}={_shown(value)}"
            for each in type(self).__schema__.fields
            if (value := getattr(self, each.name)) != default_of(each) or each.is_required
        ]
        if self.unknown_tags:
            shown.append(f"unknown_tags={self.unknown_tags}")
        return f"{type(self).__name__}({', '.join(shown)})"


class Message(Struct):
    """A struct with versions of its own: what a codec is made for."""

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
    """What a client asks, and a broker of another."""

    __slots__ = ()


class Response(Message):
    """What a broker answers."""

    __slots__ = ()


class Data(Message):
    """What is no request and no answer: a header, a record of an internal topic, a blob in one."""

    __slots__ = ()


def default_of(field: Field) -> object:
    """Return what a field has where nobody says otherwise; a list or a struct is a new one."""
    if isinstance(field.default, list):
        return list(field.default)
    if isinstance(field.kind, type) and field.default is not None:
        return default_struct(field.kind)
    return field.default


def default_struct(kind: type[S]) -> S:
    """Return a struct of which every field has its default."""
    made = object.__new__(kind)
    for each in kind.__schema__.fields:
        setattr(made, each.name, default_of(each))
    made.unknown_tags = ()
    return made


def _field(name: str, annotation: object, declared: object) -> Field:
    """Return the field of an annotation and what `field` was told beside it."""
    if not isinstance(declared, _Declared):
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


def _kind(annotation: object) -> tuple[Kind, bool]:
    """Return the type on the wire, and whether it may be null."""
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
        assert isinstance(kind, Fixed | Sized)
        return kind, False
    raise TypeError(f"{annotation} is no type of the wire")


def _zero(kind: Kind) -> object:
    """Return the default of a type; a struct's stands for a new one of defaults."""
    if isinstance(kind, ListOf):
        return []
    return kind.default if isinstance(kind, Fixed | Sized) else kind


def default_source(field: Field, source: Source) -> str:
    """Return the expression that `default_of` would be in generated source."""
    if isinstance(field.kind, type) and field.default is not None:
        return f"{source.constant('default', partial(default_struct, field.kind))}()"
    return repr(field.default)


def _first_init(self: Struct, **fields: object) -> None:
    """Make the class's own `__init__` when it is first wanted: most classes are only ever read."""
    kind = type(self)
    made = _compiled_init(kind)
    kind.__init__ = made  # type: ignore[method-assign]  # the same, but quick
    made(self, **fields)


def _compiled_init(kind: type[Struct]) -> Callable[..., None]:
    """Return an `__init__` of one assignment a field, several times as fast as a loop."""
    source = Source({"MISSING": MISSING})
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
    """Return what takes the values of all fields out of an object."""
    return attrgetter(*(each.name for each in kind.__schema__.fields), "unknown_tags")


def _shown(value: object) -> str:
    """Return a value as text; what is large and opaque as its size."""
    if isinstance(value, bytes | bytearray | memoryview) and len(value) > _SHOWN_BYTES:
        return f"<{len(value)} bytes>"
    if isinstance(value, memoryview):
        return repr(bytes(value))
    return repr(value)
