"""Classes made from message declarations."""

import pytest

from cordwood.core.uuids import NO_UUID
from cordwood.protocol.schema import Message, Struct, StructType, default_struct, field
from cordwood.protocol.wire_types import Int32
from tests.unit.protocol.messages_of_tests import Later, Lists, Node, Part, Tagged, Texts


def test_message_takes_its_fields_by_keyword() -> None:
    made = Tagged(index=7, label="a", state=Node())

    assert made.index == 7
    assert made.label == "a"
    assert made.leader is None
    assert made.unknown_tags == ()


def test_fields_without_a_default_are_required() -> None:
    with pytest.raises(TypeError, match="kept"):
        Later()  # type: ignore[call-arg]  # the error is under test


def test_message_has_lists_of_its_own() -> None:
    one, two = Lists(), Lists()

    one.numbers.append(1)

    assert two.numbers == []


def test_message_takes_its_fields_whatever_was_made_before() -> None:
    class Early(Struct):
        number: Int32

    Struct()

    assert Early(number=3).number == 3


def test_message_has_no_room_for_other_names() -> None:
    with pytest.raises(AttributeError):
        Node().port = 1  # type: ignore[attr-defined]  # the error is under test


def test_struct_equals_another_of_the_same_fields() -> None:
    assert Node(node_id=1) == Node(node_id=1, rack=None)
    assert Node(node_id=1) != Node(node_id=2)
    assert Node() != Part(index=-1)


def test_struct_differs_by_what_it_was_given_unknown() -> None:
    one = Node()
    one.unknown_tags = ((3, b"x"),)

    assert one != Node()


def test_repr_shows_what_is_not_the_default_and_how_large_it_is() -> None:
    made = Texts(name="a", blob=memoryview(b"xyz"), extra=bytes(100))
    made.unknown_tags = ((9, b"z"),)

    assert repr(made) == (
        "Texts(name='a', blob=b'xyz', extra=<100 bytes>, unknown_tags=((9, b'z'),))"
    )


def test_repr_shows_what_had_to_be_given() -> None:
    assert repr(Part(index=0)) == "Part(index=0)"


def test_schema_has_the_versions_of_a_field() -> None:
    fields = {each.name: each for each in Later.__schema__.fields}

    assert [version for version in range(3) if fields["gone"].is_in(version)] == [0]
    assert [version for version in range(3) if fields["come"].is_in(version)] == [1, 2]


def test_schema_has_the_flexible_versions() -> None:
    assert [Tagged.__schema__.is_flexible_in(version) for version in range(3)] == [0, 1, 1]
    assert not Later.__schema__.is_flexible_in(2)
    assert Tagged.__schema__.api_key == 900


def test_field_is_nullable_from_its_version_on() -> None:
    parts = Lists.__schema__.fields[-1]

    assert [parts.is_nullable_in(version) for version in range(3)] == [False, True, True]


def test_tagged_struct_has_a_null_marker_only_when_null_is_declared() -> None:
    fields = {each.name: each for each in Tagged.__schema__.fields}

    assert fields["node"].has_null_marker_in(1)
    assert not fields["leader"].has_null_marker_in(1)
    assert fields["state"].has_null_marker_in(1)


def test_field_has_kafkas_name_in_camel_case_unless_it_is_said() -> None:
    class Named(Struct):
        leader_id: Int32
        epoch: Int32 = field(name="LeaderEpoch")

    assert [each.kafka_name for each in Named.__schema__.fields] == ["LeaderId", "LeaderEpoch"]


def test_default_struct_has_new_structs_inside() -> None:
    one, two = default_struct(Tagged), default_struct(Tagged)

    assert one == two == Tagged(state=Node())
    assert one.state is not two.state


def test_declaration_is_refused_when_its_type_is_none_of_the_wire() -> None:
    with pytest.raises(TypeError, match="not a wire type"):
        StructType("Wrong", (Struct,), {"__annotations__": {"number": int}})


def test_declaration_is_refused_when_a_default_stands_alone() -> None:
    with pytest.raises(TypeError, match=r"field\(default"):
        StructType("Wrong", (Struct,), {"__annotations__": {"number": Int32}, "number": 3})


def test_defaults_are_kafkas_where_none_is_given() -> None:
    class Zeroes(Message):
        number: Int32
        node: Node

    made = default_struct(Zeroes)

    assert made.number == 0
    assert made.node == Node()
    assert len(NO_UUID) == 16
