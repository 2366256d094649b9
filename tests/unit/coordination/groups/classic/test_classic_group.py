"""Members of a classic group, and the checks of requests that are not part of its protocol."""

import pytest

from cordwood.coordination.groups.classic.classic_group import ClassicGroup
from cordwood.coordination.groups.classic.classic_group_member import (
    ClassicGroupMember,
    MemberProtocol,
    WaitingJoin,
)
from cordwood.coordination.groups.classic.classic_group_state import ClassicGroupState
from cordwood.coordination.groups.group import GroupType, OffsetCommitter
from cordwood.coordination.outcome import Ticket
from cordwood.core.errors import KafkaError, NonEmptyGroupError
from tests.unit.coordination.groups.classic.classic_samples import subscription

STATES = ClassicGroupState


def member_of(
    member_id: str,
    *protocols: str,
    instance_id: str | None = None,
    topic: str = "t",
    rebalance_timeout_ms: int = 60_000,
) -> ClassicGroupMember:
    return ClassicGroupMember(
        member_id=member_id,
        instance_id=instance_id,
        client_id="c",
        client_host="/127.0.0.1",
        rebalance_timeout_ms=rebalance_timeout_ms,
        session_timeout_ms=10_000,
        protocols=tuple(
            MemberProtocol(name, subscription(topic)) for name in protocols or ("range",)
        ),
    )


def group_of(
    *members: ClassicGroupMember,
    state: ClassicGroupState = STATES.STABLE,
    protocol_type: str = "consumer",
) -> ClassicGroup:
    group = ClassicGroup("g", state_timestamp_ms=500, protocol_type=protocol_type)
    for each in members:
        group.add(each)
    group.state = state
    group.generation = 3
    if members:
        group.protocol_name = "range"
    group.refresh_topics()
    return group


def code_of(group: ClassicGroup, committer: OffsetCommitter) -> int:
    try:
        group.validate_offset_commit(committer)
    except KafkaError as error:
        return error.code
    return 0


def test_first_member_is_the_leader() -> None:
    group = group_of(member_of("a"), member_of("b"))

    assert group.leader_id == "a"


def test_leader_that_is_removed_is_followed_by_the_next_member() -> None:
    group = group_of(member_of("a"), member_of("b"))

    group.remove("a")
    assert group.leader_id == "b"

    group.remove("b")
    assert group.leader_id is None


def test_leader_that_has_not_joined_is_followed_by_a_member_that_has() -> None:
    group = group_of(member_of("a"), member_of("b"), member_of("c"))
    group.waiting_joins["c"] = WaitingJoin(Ticket(1), 9)

    assert group.elect_joined_leader()
    assert group.leader_id == "c"


def test_leader_stays_when_it_has_joined() -> None:
    group = group_of(member_of("a"), member_of("b"))
    group.waiting_joins = {each: WaitingJoin(Ticket(1), 9) for each in ("b", "a")}

    assert group.elect_joined_leader()
    assert group.leader_id == "a"


def test_leader_is_missing_when_no_member_has_joined() -> None:
    assert not group_of(member_of("a", instance_id="i")).elect_joined_leader()
    assert not group_of().elect_joined_leader()


def test_removed_member_leaves_no_trace() -> None:
    group = group_of(member_of("a", instance_id="i"))
    group.waiting_syncs["a"] = Ticket(1)
    group.pending_syncs.add("a")

    group.remove("a")

    assert not group.members
    assert not group.static_members
    assert not group.waiting_syncs
    assert not group.pending_syncs
    assert not group.support["range"]


def test_static_member_keeps_place_and_leadership_under_its_new_id() -> None:
    group = group_of(member_of("a", instance_id="i"), member_of("b"))
    group.pending_syncs = {"a"}

    group.replace_static("a", "n")

    assert list(group.members) == ["n", "b"]
    assert group.static_members == {"i": "n"}
    assert group.leader_id == "n"
    assert group.pending_syncs == {"a"}


@pytest.mark.parametrize(
    ("protocol_type", "protocols", "fits"),
    (
        ("consumer", ("range",), True),
        ("consumer", ("zz", "range"), True),
        ("consumer", ("sticky",), False),
        ("consumer", (), False),
        ("connect", ("range",), False),
    ),
)
def test_member_fits_when_it_shares_a_protocol_with_all_others(
    protocol_type: str, protocols: tuple[str, ...], *, fits: bool
) -> None:
    group = group_of(member_of("a", "range", "sticky"), member_of("b", "range"))
    offered = [MemberProtocol(name, b"") for name in protocols]

    assert group.supports(protocol_type, offered) is fits


@pytest.mark.parametrize(
    ("protocol_type", "names", "fits"),
    (("connect", ["zz"], True), ("", ["zz"], False), ("connect", [], False)),
)
def test_empty_group_takes_any_protocol(
    protocol_type: str, names: list[str], *, fits: bool
) -> None:
    group = group_of(state=STATES.EMPTY)

    assert group.supports(protocol_type, [MemberProtocol(each, b"") for each in names]) is fits


def test_group_waits_for_members_and_for_ids_that_were_given_out() -> None:
    group = group_of(member_of("a"), state=STATES.PREPARING_REBALANCE)
    joined = [group.has_all_joined]

    group.waiting_joins["a"] = WaitingJoin(Ticket(1), 9)
    joined.append(group.has_all_joined)
    group.pending_joins.add("b")
    joined.append(group.has_all_joined)

    assert joined == [False, True, False]


def test_rebalance_timeout_is_the_longest_of_all_members() -> None:
    members = (member_of("a"), member_of("b", rebalance_timeout_ms=90_000))

    assert group_of(*members).rebalance_timeout_ms == 90_000
    assert group_of().rebalance_timeout_ms == 0


def test_generation_begins_with_the_voted_protocol_and_all_topics() -> None:
    group = group_of(
        member_of("a", "sticky", "range", topic="t"),
        member_of("b", "range", topic="u"),
        state=STATES.PREPARING_REBALANCE,
    )

    group.begin_generation(900)

    assert (group.generation, group.protocol_name) == (4, "range")
    assert group.topics == frozenset("tu")
    assert group.state_timestamp_ms == 900


@pytest.mark.parametrize(
    ("member_id", "instance_id", "code"),
    (
        ("a", "i", 0),
        ("a", None, 0),
        ("b", None, 0),
        ("zz", None, 25),
        ("b", "zz", 25),
        ("b", "i", 82),
        ("zz", "i", 82),
    ),
)
def test_member_is_validated_by_its_instance_first(
    member_id: str, instance_id: str | None, code: int
) -> None:
    group = group_of(member_of("a", instance_id="i"), member_of("b"))
    committer = OffsetCommitter(member_id, instance_id, 3, is_transactional=False, api_version=9)

    assert code_of(group, committer) == code


@pytest.mark.parametrize(
    ("state", "member_id", "epoch", "codes"),
    (
        # Each pair: the code of an ordinary commit, and of a transactional one.
        (STATES.EMPTY, "", -1, (0, 0)),
        (STATES.EMPTY, "zz", -1, (0, 0)),
        (STATES.EMPTY, "zz", 3, (25, 25)),
        (STATES.STABLE, "", -1, (25, 0)),
        (STATES.STABLE, "zz", -1, (25, 25)),
        (STATES.STABLE, "a", 3, (0, 0)),
        (STATES.STABLE, "a", 2, (22, 22)),
        (STATES.STABLE, "a", 4, (22, 22)),
        (STATES.PREPARING_REBALANCE, "a", 3, (0, 0)),
        (STATES.PREPARING_REBALANCE, "", -1, (25, 0)),
        (STATES.COMPLETING_REBALANCE, "a", 3, (27, 0)),
        (STATES.COMPLETING_REBALANCE, "a", 2, (22, 22)),
        (STATES.DEAD, "a", 3, (15, 15)),
    ),
)
def test_commit_is_validated_by_state_member_and_generation(
    state: ClassicGroupState, member_id: str, epoch: int, codes: tuple[int, int]
) -> None:
    members = () if state is STATES.EMPTY else (member_of("a"),)
    group = group_of(*members, state=state)

    found = tuple(
        code_of(group, OffsetCommitter(member_id, None, epoch, is_transactional, api_version=9))
        for is_transactional in (False, True)
    )

    assert found == codes


def test_commit_by_an_instance_id_needs_the_member_also_without_a_generation() -> None:
    group = group_of(member_of("a"))

    assert code_of(group, OffsetCommitter("", "i", -1, is_transactional=True, api_version=5)) == 25


def test_fetch_needs_a_living_group() -> None:
    group_of(member_of("a")).validate_offset_fetch("zz", 99)

    with pytest.raises(KafkaError, match="dead state") as caught:
        group_of(state=STATES.DEAD).validate_offset_fetch(None, -1)
    assert caught.value.code == 69


def test_offsets_of_members_are_deleted_only_for_consumers() -> None:
    group_of(member_of("a")).validate_offset_delete()
    group_of(state=STATES.EMPTY, protocol_type="connect").validate_offset_delete()

    with pytest.raises(NonEmptyGroupError):
        group_of(member_of("a"), protocol_type="connect").validate_offset_delete()


@pytest.mark.parametrize(
    ("state", "code"),
    (
        (STATES.EMPTY, 0),
        (STATES.PREPARING_REBALANCE, 68),
        (STATES.COMPLETING_REBALANCE, 68),
        (STATES.STABLE, 68),
        (STATES.DEAD, 69),
    ),
)
def test_group_is_deleted_only_when_it_is_empty(state: ClassicGroupState, code: int) -> None:
    group = group_of(state=state)
    if not code:
        group.validate_delete()
        return

    with pytest.raises(KafkaError) as caught:
        group.validate_delete()
    assert caught.value.code == code


def test_group_is_subscribed_to_the_topics_of_its_members() -> None:
    group = group_of(member_of("a", topic="t"))

    assert group.is_subscribed("t")
    assert not group.is_subscribed("u")


def test_group_of_consumers_with_unknown_topics_is_subscribed_to_all() -> None:
    member = member_of("a")
    member.protocols = (MemberProtocol("range", b"zz"),)

    assert group_of(member).is_subscribed("t")
    assert not group_of(member, protocol_type="connect").is_subscribed("t")


def test_empty_group_of_consumers_is_subscribed_to_no_topic() -> None:
    assert not group_of(state=STATES.EMPTY).is_subscribed("t")


@pytest.mark.parametrize(
    ("state", "protocol_type", "since", "base"),
    (
        (STATES.EMPTY, "", 500, 100),
        (STATES.EMPTY, "consumer", 500, 500),
        (STATES.EMPTY, "connect", 500, 500),
        (STATES.EMPTY, "consumer", -1, 100),
        (STATES.STABLE, "consumer", 500, 100),
        (STATES.STABLE, "connect", 500, None),
        (STATES.PREPARING_REBALANCE, "consumer", 500, None),
        (STATES.COMPLETING_REBALANCE, "consumer", 500, None),
    ),
)
def test_retention_of_an_offset_counts_from_commit_or_from_the_last_member(
    state: ClassicGroupState, protocol_type: str, since: int, base: int | None
) -> None:
    members = () if state is STATES.EMPTY else (member_of("a"),)
    group = group_of(*members, state=state, protocol_type=protocol_type)
    group.state_timestamp_ms = since

    assert group.expiry_base_ms(100) == base


def test_retention_of_a_stable_group_with_unknown_topics_does_not_count() -> None:
    member = member_of("a")
    member.protocols = (MemberProtocol("range", b"zz"),)

    assert group_of(member).expiry_base_ms(100) is None


def test_tombstone_has_the_key_of_the_group() -> None:
    (record,) = group_of().tombstones()

    assert (record.type, record.value) == (2, None)
    assert repr(record.key) == "GroupMetadataKey(group='g')"


def test_group_is_simple_until_a_member_has_been_in_it() -> None:
    group, pending = ClassicGroup("g"), ClassicGroup("g")
    pending.pending_joins.add("a")

    assert group.is_simple
    assert not pending.is_simple
    assert not group_of(state=STATES.EMPTY).is_simple


def test_group_shows_its_kind_and_its_state() -> None:
    group = group_of(member_of("a"))

    assert group.group_type is GroupType.CLASSIC
    assert group.state_name == "Stable"
    assert not group.is_empty
