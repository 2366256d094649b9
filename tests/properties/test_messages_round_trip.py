"""Every message, in every version, is read back as it was written, to the last byte."""

from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cordwood.core.uuids import Uuid
from cordwood.protocol.apis import APIS
from cordwood.protocol.codec import encode, joined, reader
from cordwood.protocol.schema import Field, ListOf, Message, Struct, WireKind, default_of
from cordwood.protocol.wire_types import FixedSizeType

MESSAGES = [kind for api in APIS.values() for kind in (api.request(), api.response())]

#: There are many messages, so each gets a part of the examples that another test has.
EXAMPLES = max(settings.default.max_examples // 12, 1) if settings.default else 5

UNKNOWN_TAGS = st.dictionaries(st.integers(1_000, 2**31), st.binary(max_size=200), max_size=2)

VALUES: dict[str, st.SearchStrategy[object]] = {
    "bool": st.booleans(),
    "float64": st.floats(allow_nan=False),
    "uuid": st.binary(min_size=16, max_size=16).map(Uuid),
    "string": st.text(max_size=8) | st.text("é", min_size=60, max_size=70),
    "bytes": st.binary(max_size=140),
    "records": st.binary(max_size=140) | st.just(bytes(10_000)),
}


@st.composite
def structs(draw: st.DrawFn, kind: type[Struct], version: int, *, is_flexible: bool) -> Struct:
    """A struct in which what the version has is anything, and the rest is the default."""

    def value(field: Field) -> object:
        if not field.is_in(version):
            return default_of(field)
        values = of_kind(field.kind, version, is_flexible=is_flexible)
        return draw(st.none() | values if field.is_nullable_in(version) else values)

    made = kind(**{field.name: value(field) for field in kind.__schema__.fields})
    if is_flexible:
        made.unknown_tags = tuple(sorted(draw(UNKNOWN_TAGS).items()))
    return made


def of_kind(kind: WireKind, version: int, *, is_flexible: bool) -> st.SearchStrategy[object]:
    if isinstance(kind, ListOf):
        return st.lists(of_kind(kind.element, version, is_flexible=is_flexible), max_size=3)
    if isinstance(kind, type):
        return structs(kind, version, is_flexible=is_flexible)
    if kind.name in VALUES:
        return VALUES[kind.name]
    assert isinstance(kind, FixedSizeType)
    count = 1 << 8 * kind.size
    first = -count // 2 if kind.format.islower() else 0
    return st.integers(first, first + count - 1)


@pytest.mark.parametrize("kind", MESSAGES, ids=lambda kind: kind.__name__)
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_message_round_trips(kind: type[Message], data: st.DataObject) -> None:
    version = data.draw(st.integers(*kind.__schema__.versions))
    is_flexible = kind.__schema__.is_flexible_in(version)
    message = cast("Message", data.draw(structs(kind, version, is_flexible=is_flexible)))

    written = joined(encode(message, version))

    assert reader(kind, version)(memoryview(written), 0) == (message, len(written))
