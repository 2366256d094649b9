"""A description shows assignments, and the metadata of stable groups alone."""

import pytest

from cordwood.coordination.groups.classic.classic_group_description import described, not_described
from cordwood.coordination.groups.classic.classic_group_state import ClassicGroupState
from cordwood.protocol.codec import encode, joined
from cordwood.protocol.messages.describe_groups import DescribeGroupsResponse
from tests.unit.coordination.groups.classic.test_classic_group import group_of, member_of


def test_stable_group_is_described_with_metadata_and_assignments() -> None:
    group = group_of(member_of("a", instance_id="i"))
    group.members["a"].assignment = b"p0"

    description = described(group)

    (member,) = description.members
    assert (description.group_state, description.protocol_data) == ("Stable", "range")
    assert (member.member_id, member.group_instance_id) == ("a", "i")
    assert (member.client_id, member.client_host) == ("c", "/127.0.0.1")
    assert member.member_assignment == b"p0"
    assert member.member_metadata == group.members["a"].metadata("range")


@pytest.mark.parametrize(
    "state", (ClassicGroupState.PREPARING_REBALANCE, ClassicGroupState.COMPLETING_REBALANCE)
)
def test_group_in_a_rebalance_is_described_with_the_assignments_before_it(
    state: ClassicGroupState,
) -> None:
    group = group_of(member_of("a"), state=state)
    group.members["a"].assignment = b"p0"

    description = described(group)

    (member,) = description.members
    assert (description.group_state, description.protocol_type) == (state.value, "consumer")
    assert (description.protocol_data, member.member_metadata, member.member_assignment) == (
        "",
        b"",
        b"p0",
    )


@pytest.mark.parametrize(
    ("version", "code", "message"), ((0, 0, None), (5, 0, None), (6, 69, "Group g not found."))
)
def test_missing_group_is_dead_and_an_error_since_version_6(
    version: int, code: int, message: str | None
) -> None:
    description = not_described("g", "Group g not found.", version=version)

    assert (description.group_state, description.error_code) == ("Dead", code)
    assert description.error_message == message
    assert joined(encode(DescribeGroupsResponse(groups=[description]), version))
