"""Records of classic groups, and the state that they bring a group into."""

import pytest

from cordwood.coordination.coordinator_record import encode_record
from cordwood.coordination.groups.classic.classic_group import ClassicGroup
from cordwood.coordination.groups.classic.classic_group_member import MemberProtocol
from cordwood.coordination.groups.classic.classic_group_state import ClassicGroupState
from cordwood.coordination.groups.classic.group_metadata_record import (
    apply_value,
    assigned_value,
    created_value,
    emptied_value,
    metadata_record,
)
from cordwood.protocol.messages.internal import GroupMetadataValue, MemberMetadata
from tests.unit.coordination.groups.classic.test_classic_group import group_of, member_of


def value_of(*members: MemberMetadata, protocol: str | None = "range") -> GroupMetadataValue:
    return GroupMetadataValue(
        protocol_type="consumer",
        generation=7,
        protocol=protocol,
        leader=members[0].member_id if members else None,
        current_state_timestamp=900,
        members=list(members),
    )


def stored_member(member_id: str, *, subscription: bytes = b"s") -> MemberMetadata:
    return MemberMetadata(
        member_id=member_id,
        group_instance_id=None,
        client_id="c",
        client_host="/127.0.0.1",
        rebalance_timeout=60_000,
        session_timeout=10_000,
        subscription=subscription,
        assignment=b"p0",
    )


def test_record_of_a_created_group_has_the_bytes_of_kafka() -> None:
    group = ClassicGroup("g", 0x0102)

    key, value = encode_record(metadata_record("g", created_value(group)))

    assert key.hex() == "0002000167"
    assert value is not None
    assert value.hex() == "0003000000000000ffffffff000000000000010200000000"


def test_record_of_an_emptied_group_has_its_protocol_type_and_the_next_generation() -> None:
    group = group_of(state=ClassicGroupState.PREPARING_REBALANCE)

    _, value = encode_record(metadata_record("g", emptied_value(group, 0x0102)))

    assert value is not None
    assert value.hex() == ("00030008636f6e73756d657200000004ffffffff000000000000010200000000")


def test_record_of_assignments_has_the_bytes_of_kafka() -> None:
    member = member_of("m", "range", instance_id="i")
    member.protocols = (MemberProtocol("range", b"\x01"),)
    group = group_of(member)

    _, value = encode_record(metadata_record("g", assigned_value(group, {"m": b"\x02\x03"})))

    assert value is not None
    assert value.hex() == (
        "0003" "0008636f6e73756d6572" "00000003" "000572616e6765" "00016d" "00000000000001f4"
        "00000001" "00016d" "000169" "000163" "000a2f3132372e302e302e31" "0000ea60" "00002710"
        "00000001" "01" "00000002" "0203"
    )  # fmt: skip


def test_member_without_an_assignment_is_stored_with_an_empty_one() -> None:
    group = group_of(member_of("a"), member_of("b"))

    value = assigned_value(group, {"b": b"p0", "zz": b"p1"})

    assert [each.assignment for each in value.members] == [b"", b"p0"]


def test_record_with_members_makes_a_stable_group() -> None:
    group = ClassicGroup("g")

    apply_value(group, value_of(stored_member("a"), stored_member("b")))

    assert group.state is ClassicGroupState.STABLE
    assert (group.generation, group.protocol_name, group.leader_id) == (7, "range", "a")
    assert group.assignments == {"a": b"p0", "b": b"p0"}
    assert group.state_timestamp_ms == 900
    assert group.support == {"range": 2}


def test_record_without_members_makes_an_empty_group() -> None:
    group = group_of(member_of("a"))

    apply_value(group, value_of(protocol=None))

    assert group.is_empty
    assert not group.members
    assert group.leader_id is None
    assert group.topics == frozenset()


def test_member_of_an_old_record_waits_for_its_session_timeout() -> None:
    group, old = ClassicGroup("g"), stored_member("a")
    old.rebalance_timeout = -1

    apply_value(group, value_of(old))

    assert group.members["a"].rebalance_timeout_ms == 10_000


def test_member_keeps_the_protocols_that_the_record_does_not_have() -> None:
    member = member_of("a")
    member.protocols = (MemberProtocol("sticky", b"x"), MemberProtocol("range", b"s"))
    group = group_of(member)

    apply_value(group, value_of(stored_member("a")))

    assert group.support == {"sticky": 1, "range": 1}
    assert group.members["a"].assignment == b"p0"


@pytest.mark.parametrize("subscription", (b"other", b""))
def test_member_with_other_metadata_gets_that_of_the_record(subscription: bytes) -> None:
    group = group_of(member_of("a"))

    apply_value(group, value_of(stored_member("a", subscription=subscription)))

    assert group.members["a"].protocols == (MemberProtocol("range", subscription),)


def test_topics_are_unknown_when_a_record_has_members_and_no_protocol() -> None:
    group = ClassicGroup("g")

    apply_value(group, value_of(stored_member("a"), protocol=None))

    assert group.topics is None
    assert group.is_subscribed("t")


def test_later_record_replaces_all_members() -> None:
    group = ClassicGroup("g")
    apply_value(group, value_of(stored_member("a"), stored_member("b")))

    apply_value(group, value_of(stored_member("c")))

    assert list(group.members) == ["c"]
    assert group.leader_id == "c"
