"""Members change as values."""

from cordwood.coordination.groups.consumer.group.consumer_group_member import (
    ClassicProtocolMember,
    MemberState,
    distinct_names,
)
from cordwood.protocol.messages import internal
from tests.unit.coordination.groups.consumer.assignors.assignor_samples import topic_id
from tests.unit.coordination.groups.consumer.member_samples import epochs, member


def test_state_of_a_later_version_is_unknown() -> None:
    assert MemberState.of(1) is MemberState.UNREVOKED_PARTITIONS
    assert MemberState.of(9) is MemberState.UNKNOWN


def test_member_is_reconciled_in_the_state_stable_of_the_epoch() -> None:
    assert member(assigned="").is_reconciled_to(10)
    assert not member(assigned="").is_reconciled_to(11)
    assert not member(MemberState.UNRELEASED_PARTITIONS, assigned="").is_reconciled_to(10)


def test_assignment_epoch_is_known_until_the_revocation_ends() -> None:
    found = member(assigned="1:1@7", pending="1:2@8")

    assert found.assignment_epoch(topic_id(1), 1) == 7
    assert found.assignment_epoch(topic_id(1), 2) == 8
    assert found.assignment_epoch(topic_id(2), 1) is None


def test_advanced_member_keeps_its_previous_epoch() -> None:
    after = member(assigned="").advanced(10, state=MemberState.STABLE, assigned=epochs("1:1@10"))

    assert (after.member_epoch, after.previous_member_epoch) == (10, 10)


def test_departed_static_member_keeps_its_partitions_with_epoch_0() -> None:
    after = member(assigned="1:1@7", pending="1:2@8").departed()

    assert after.member_epoch == -2
    assert after.assigned == epochs("1:1@0")
    assert after.pending_revocation == {}


def test_static_member_is_replaced_with_epoch_0() -> None:
    after = member(assigned="1:1@7").replaced_by("n")

    assert (after.member_id, after.member_epoch, after.previous_member_epoch) == ("n", 0, 0)
    assert after.assigned == epochs("1:1@7")


def test_metadata_record_sets_sorted_topics_and_classic_protocols() -> None:
    classic = internal.ClassicMemberMetadata(
        session_timeout_ms=6,
        supported_protocols=[internal.ClassicProtocol(name="range", metadata=b"x")],
    )
    value = internal.ConsumerGroupMemberMetadataValue(
        instance_id="i",
        rack_id=None,
        client_id="c",
        client_host="/h",
        subscribed_topic_names=["b", "a", "b"],
        subscribed_topic_regex=None,
        server_assignor="range",
        classic_member_metadata=classic,
    )

    after = member(assigned="1:1@7").with_metadata(value)

    assert after.topic_names == ("a", "b")
    assert after.classic == ClassicProtocolMember(6, (("range", b"x"),))
    assert after.assigned == epochs("1:1@7")


def test_assignment_record_sets_epochs_and_partitions() -> None:
    value = internal.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=5,
        previous_member_epoch=4,
        state=2,
        assigned_partitions=[
            internal.OwnedPartitions(topic_id=topic_id(1), partitions=[1], assignment_epochs=[3])
        ],
        partitions_pending_revocation=[],
    )

    after = member(assigned="1:1@7").with_assignment(value)

    assert (after.member_epoch, after.previous_member_epoch) == (5, 4)
    assert after.state is MemberState.UNRELEASED_PARTITIONS
    assert after.assigned == epochs("1:1@3")


def test_names_are_distinct_and_in_order() -> None:
    assert distinct_names(["b", "a", "b"]) == ("a", "b")
