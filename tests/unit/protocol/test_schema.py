"""Classes made from message declarations."""

import pytest

from cordwood.core.uuids import NO_UUID
from cordwood.protocol.schema import Message, Struct, StructType, default_struct, field
from cordwood.protocol.wire_types import Int32
from tests.unit.protocol.messages_of_tests import Later, Lists, Node, Part, Tagged, Texts


def test_message_has_its_fields_as_keywords() -> None:
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


def test_message_fields_do_not_depend_on_earlier_classes() -> None:
    class Early(Struct):
        number: Int32

    Struct()

    assert Early(number=3).number == 3


def test_message_has_slots_and_no_other_attributes() -> None:
    with pytest.raises(AttributeError):
        Node().port = 1  # type: ignore[attr-defined]  # the error is under test


def test_struct_equals_another_of_the_same_fields() -> None:
    assert Node(node_id=1) == Node(node_id=1, rack=None)
    assert Node(node_id=1) != Node(node_id=2)
    assert Node() != Part(index=-1)


def test_struct_equality_includes_unknown_tags() -> None:
    one = Node()
    one.unknown_tags = ((3, b"x"),)

    assert one != Node()


def test_repr_shows_values_other_than_defaults_and_their_sizes() -> None:
    made = Texts(name="a", blob=memoryview(b"xyz"), extra=bytes(100))
    made.unknown_tags = ((9, b"z"),)

    assert repr(made) == (
        "Texts(name='a', blob=b'xyz', extra=<100 bytes>, unknown_tags=((9, b'z'),))"
    )


def test_repr_shows_required_fields() -> None:
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


def test_field_has_kafkas_name_in_camel_case_by_default() -> None:
    class Named(Struct):
        leader_id: Int32
        epoch: Int32 = field(name="LeaderEpoch")

    assert [each.kafka_name for each in Named.__schema__.fields] == ["LeaderId", "LeaderEpoch"]


def test_default_struct_has_new_structs_inside() -> None:
    one, two = default_struct(Tagged), default_struct(Tagged)

    assert one == two == Tagged(state=Node())
    assert one.state is not two.state


def test_declaration_with_a_type_that_is_not_a_wire_type_is_rejected() -> None:
    with pytest.raises(TypeError, match="not a wire type"):
        StructType("Wrong", (Struct,), {"__annotations__": {"number": int}})


def test_declaration_with_a_bare_default_is_rejected() -> None:
    with pytest.raises(TypeError, match=r"field\(default"):
        StructType("Wrong", (Struct,), {"__annotations__": {"number": Int32}, "number": 3})


def test_default_values_are_those_of_kafka() -> None:
    class Zeroes(Message):
        number: Int32
        node: Node

    made = default_struct(Zeroes)

    assert made.number == 0
    assert made.node == Node()
    assert len(NO_UUID) == 16
