"""The answer to a request that ends in an error, made of nothing but the request and its API.

Kafka tells an error where it happened: beside a partition, beside a topic, or at the top. An answer
has the shape of its request, topics for topics and partitions for partitions, so it can be made of
that: everything asked for is named again, with the error's code beside it, and only where nothing
was asked for does the code stand at the top.
"""

from typing import Final, TypeGuard

from cordwood.core.errors import KafkaError
from cordwood.core.ids import Uuid
from cordwood.protocol.apis import APIS
from cordwood.protocol.schema import Field, ListOf, Request, Response, Struct, default_struct
from cordwood.protocol.wire import STRING

_CODE: Final = "error_code"
_WORDS: Final = "error_message"
_TOPIC_FIELDS: Final = ("topic", "topic_id", "name")
#: What an answer repeats of what was asked for, and what requests call it where they differ.
_NAMES: Final = {
    **{each: each for each in _TOPIC_FIELDS},
    **{each: each for each in ("index", "resource_type", "resource_name", "group_id")},
    "partition_index": "partition",
}


def refusal(request: Request, error: KafkaError) -> Response:
    """Return the answer of an API to a request of it, of which all that was asked for failed."""
    key = type(request).__schema__.api_key
    assert key is not None, "every request has one"
    answer = default_struct(APIS[key].response())
    _refuse(answer, request, error)
    return answer


def refuse_all(answer: Struct, error: KafkaError) -> None:
    """Put the error beside everything that an answer tells of."""
    told = [each for name, _ in _lists_with_codes(type(answer)) for each in getattr(answer, name)]
    for each in told:
        refuse_all(each, error)
    if not told:
        _tell(answer, error)


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


def _refuse(answer: Struct, asked: Struct, error: KafkaError) -> None:
    names = _lists_with_codes(type(answer))
    parts = _elements(asked)
    if not names or not parts:
        _tell(answer, error)
        return
    name, kind = names[0]
    setattr(answer, name, [_refused(kind, part, error) for part in parts])


def _refused(kind: type[Struct], asked: Struct | str, error: KafkaError) -> Struct:
    """Return the part of an answer about what was asked for: under its names, with the code."""
    made = default_struct(kind)
    if isinstance(asked, str):
        _tell(made, error)
        setattr(made, _name_field(kind), asked)
        return made
    for name, otherwise in _NAMES.items():
        source = name if hasattr(asked, name) else otherwise
        if hasattr(made, name) and hasattr(asked, source):
            setattr(made, name, getattr(asked, source))
    _refuse(made, asked, error)
    return made


def _tell(answer: Struct, error: KafkaError) -> None:
    if hasattr(answer, _CODE):
        setattr(answer, _CODE, error.code)
    if hasattr(answer, _WORDS):
        setattr(answer, _WORDS, str(error) or None)


def _elements(asked: Struct) -> list[Struct | str]:
    """Return what a request asks for: the first of its lists that has structs or names in it."""
    for field in type(asked).__schema__.fields:
        if isinstance(field.kind, ListOf) and (elements := getattr(asked, field.name)):
            return [each for each in elements if isinstance(each, Struct | str)]
    return []


def _name_field(kind: type[Struct]) -> str:
    """Return what the part of an answer calls a thing that is asked for by its name alone."""
    return next(
        field.name
        for field in kind.__schema__.fields
        if field.kind is STRING and field.name != _WORDS
    )


def _lists_with_codes(kind: type[Struct]) -> list[tuple[str, type[Struct]]]:
    """Return the lists of an answer whose elements have a code, there or further below."""
    found = ((field.name, _element(field)) for field in kind.__schema__.fields)
    return [(name, element) for name, element in found if _has_codes(element)]


def _has_codes(kind: type[Struct] | None) -> TypeGuard[type[Struct]]:
    return kind is not None and (hasattr(kind, _CODE) or bool(_lists_with_codes(kind)))


def _element(field: Field) -> type[Struct] | None:
    """Return what a field is a list of, if that is a struct."""
    element = field.kind.element if isinstance(field.kind, ListOf) else None
    return element if isinstance(element, type) else None
