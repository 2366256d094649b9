"""A member knows its protocols in its order of preference."""

from cordwood.coordination.groups.classic.classic_group_member import (
    ClassicGroupMember,
    MemberProtocol,
)


def member_of(*protocols: str, instance_id: str | None = None) -> ClassicGroupMember:
    return ClassicGroupMember(
        member_id="m",
        instance_id=instance_id,
        client_id="c",
        client_host="/127.0.0.1",
        rebalance_timeout_ms=60_000,
        session_timeout_ms=10_000,
        protocols=tuple(MemberProtocol(name, name.encode()) for name in protocols),
        is_new=True,
    )


def test_member_votes_for_its_first_protocol_among_the_candidates() -> None:
    member = member_of("sticky", "range", "roundrobin")

    assert member.vote({"roundrobin", "range"}) == "range"


def test_metadata_is_that_of_the_protocol() -> None:
    member = member_of("range", "sticky")

    assert member.metadata("sticky") == b"sticky"
    assert member.metadata("zz") == b""
    assert member.metadata(None) == b""


def test_member_supports_its_protocols_only() -> None:
    member = member_of("range")

    assert member.supports("range")
    assert not member.supports("sticky")


def test_member_with_an_instance_id_is_static() -> None:
    assert member_of("range", instance_id="i").is_static
    assert not member_of("range").is_static


def test_renamed_member_keeps_everything_but_its_id() -> None:
    member = member_of("range", instance_id="i")
    member.assignment = b"p0"

    renamed = member.renamed("n")

    assert (renamed.member_id, renamed.instance_id, renamed.assignment) == ("n", "i", b"p0")
    assert not renamed.is_new
    assert member.member_id == "m"
