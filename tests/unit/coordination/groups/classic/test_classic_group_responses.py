"""Responses have the defaults that clients of each version expect."""

import pytest

from cordwood.coordination.groups.classic import classic_group_responses as responses
from cordwood.protocol.codec import encode, joined
from tests.unit.coordination.groups.classic.test_classic_group import group_of, member_of


@pytest.mark.parametrize("version", range(10))
def test_error_of_a_join_can_be_written_in_every_version(version: int) -> None:
    response = responses.join_error(79, "m", version=version)

    assert joined(encode(response, version))
    assert (response.error_code, response.member_id, response.generation_id) == (79, "m", -1)
    assert response.protocol_name == (None if version >= 7 else "")


def test_member_gets_the_generation_without_the_others() -> None:
    group = group_of(member_of("a"), member_of("b"))

    response = responses.joined(group, "b")

    assert (response.generation_id, response.protocol_type, response.protocol_name) == (
        3,
        "consumer",
        "range",
    )
    assert (response.leader, response.member_id, response.members) == ("a", "b", [])


def test_leader_gets_the_metadata_of_all_members() -> None:
    group = group_of(member_of("a", instance_id="i"), member_of("b"))

    response = responses.joined(group, "a", with_members=True)

    assert [(each.member_id, each.group_instance_id) for each in response.members] == [
        ("a", "i"),
        ("b", None),
    ]
    assert all(each.metadata for each in response.members)


def test_sync_has_the_assignment_and_repeats_the_protocol() -> None:
    response = responses.synced(group_of(member_of("a")), b"p0")

    assert (response.assignment, response.protocol_type, response.protocol_name) == (
        b"p0",
        "consumer",
        "range",
    )


def test_error_of_a_sync_has_no_protocol() -> None:
    response = responses.sync_error(27)

    assert (response.error_code, response.assignment) == (27, b"")
    assert response.protocol_type is None
