"""Error response to any request, derived from the request and its API alone.

Kafka reports an error next to a partition, next to a topic, or at the top of the response. A
response has the shape of its request: topics for topics, partitions for partitions. So every
requested item is repeated with the error code. Only a request without items gets the code at the
top.
"""

from typing import Final, TypeGuard

from cordwood.core.errors import KafkaError
from cordwood.core.uuids import Uuid
from cordwood.protocol.apis import APIS
from cordwood.protocol.schema import Field, ListOf, Request, Response, Struct, default_struct
from cordwood.protocol.wire_types import STRING

_CODE: Final = "error_code"
_MESSAGE: Final = "error_message"
_TOPIC_FIELDS: Final = ("topic", "topic_id", "name")
#: Fields that a response repeats, with the request's name where it differs.
_NAMES: Final = {
    **{each: each for each in _TOPIC_FIELDS},
    **{each: each for each in ("index", "resource_type", "resource_name", "group_id")},
    "partition_index": "partition",
}


def error_response(request: Request, error: KafkaError) -> Response:
    """Return the response in which every requested item failed with the error."""
    key = type(request).__schema__.api_key
    assert key is not None, "every request class has an API key"
    response = default_struct(APIS[key].response())
    _fill(response, request, error)
    return response


def set_errors(response: Struct, error: KafkaError) -> None:
    """Set the error on every item of a response."""
    items = [
        each for name, _ in _lists_with_codes(type(response)) for each in getattr(response, name)
    ]
    for each in items:
        set_errors(each, error)
    if not items:
        _set_error(response, error)


def topics_of(request: Struct) -> set[str | Uuid]:
    """Return the topics that a request names, by name or by id."""
    found: set[str | Uuid] = set()
    for each in _elements(request):
        if isinstance(each, str):
            found.add(each)
            continue
        found.update(getattr(each, name) for name in _TOPIC_FIELDS if hasattr(each, name))
        found |= topics_of(each)
    return found


def _fill(response: Struct, requested: Struct, error: KafkaError) -> None:
    names = _lists_with_codes(type(response))
    parts = _elements(requested)
    if not names or not parts:
        _set_error(response, error)
        return
    name, kind = names[0]
    setattr(response, name, [_error_item(kind, part, error) for part in parts])


def _error_item(kind: type[Struct], requested: Struct | str, error: KafkaError) -> Struct:
    """Return the failed response item for one requested item."""
    made = default_struct(kind)
    if isinstance(requested, str):
        _set_error(made, error)
        setattr(made, _name_field(kind), requested)
        return made
    for name, otherwise in _NAMES.items():
        source = name if hasattr(requested, name) else otherwise
        if hasattr(made, name) and hasattr(requested, source):
            setattr(made, name, getattr(requested, source))
    _fill(made, requested, error)
    return made


def _set_error(response: Struct, error: KafkaError) -> None:
    if hasattr(response, _CODE):
        setattr(response, _CODE, error.code)
    if hasattr(response, _MESSAGE):
        setattr(response, _MESSAGE, str(error) or None)


def _elements(requested: Struct) -> list[Struct | str]:
    """Return the requested items: the request's first list with structs or names in it."""
    for field in type(requested).__schema__.fields:
        if isinstance(field.kind, ListOf) and (elements := getattr(requested, field.name)):
            return [each for each in elements if isinstance(each, Struct | str)]
    return []


def _name_field(kind: type[Struct]) -> str:
    """Return the name field of a response item that is requested by its name alone."""
    return next(
        field.name
        for field in kind.__schema__.fields
        if field.kind is STRING and field.name != _MESSAGE
    )


def _lists_with_codes(kind: type[Struct]) -> list[tuple[str, type[Struct]]]:
    """Return the lists of a response whose elements have an error code, at any depth."""
    found = ((field.name, _element(field)) for field in kind.__schema__.fields)
    return [(name, element) for name, element in found if _has_codes(element)]


def _has_codes(kind: type[Struct] | None) -> TypeGuard[type[Struct]]:
    return kind is not None and (hasattr(kind, _CODE) or bool(_lists_with_codes(kind)))


def _element(field: Field) -> type[Struct] | None:
    """Return the struct that a field is a list of, None for other fields."""
    element = field.kind.element if isinstance(field.kind, ListOf) else None
    return element if isinstance(element, type) else None
