"""Specs give members in order, and know which topics exist."""

import pytest

from cordwood.coordination.groups.consumer.assignors.group_spec import (
    PartitionAssignorError,
    hash_order,
    in_topic_order,
    topic_order,
)
from cordwood.core.uuids import Uuid
from tests.unit.coordination.groups.consumer.assignors.assignor_samples import spec, topic_id


def test_spec_gives_member_ids_in_order() -> None:
    assert spec("CAB", (1,)).member_ids == ["A", "B", "C"]


def test_spec_rejects_a_topic_that_does_not_exist() -> None:
    with pytest.raises(PartitionAssignorError):
        spec("A", (1,)).partition_count(topic_id(2))


def test_hash_order_is_that_of_a_hash_set_of_java() -> None:
    # The hash joins the halves of an id; a set of up to 12 ids looks at its last four bits.
    first = Uuid(bytes.fromhex("00000001000000000000000000000010"))
    second = Uuid(bytes.fromhex("00000000000000030000000000000000"))

    assert hash_order([second, first]) == [first, second]


def test_hash_order_of_many_topics_looks_at_more_bits() -> None:
    many = [topic_id(each) for each in range(32)]

    assert hash_order(reversed(many)) == many


def test_topic_order_compares_signed_numbers_as_java_does() -> None:
    negative = Uuid(b"\xff" * 16)

    assert sorted([topic_id(1), negative], key=topic_order) == [negative, topic_id(1)]
    assert in_topic_order([topic_id(1), negative]) == [negative, topic_id(1)]
