"""Requests and heartbeat times of classic members."""

from cordwood.client.group.assignors.assignor_table import assignors_of
from cordwood.client.group.classic_requests import (
    ClassicHeartbeats,
    heartbeat_request,
    join_request,
    leave_request,
    sync_request,
)
from cordwood.client.group.consumer_protocol import decode_assignment
from cordwood.client.group.membership import MemberIdentity
from cordwood.client.group.membership_config import MembershipConfig
from cordwood.client.topic_partitions import partitions_of

CONFIG = MembershipConfig(
    group_id="g", instance_id="i", assignors=assignors_of(["range", "roundrobin"])
)
MEMBER = MemberIdentity("m", 4)


def test_join_has_the_assignors_and_the_poll_interval() -> None:
    request = join_request(CONFIG, MEMBER, topics=["t"], owned=(), reason="why")

    assert [each.name for each in request.protocols] == ["range", "roundrobin"]
    assert (request.session_timeout_ms, request.rebalance_timeout_ms) == (45_000, 300_000)
    assert (request.member_id, request.group_instance_id, request.reason) == ("m", "i", "why")


def test_sync_has_the_assignment_of_each_member() -> None:
    (partition,) = partitions_of([("t", 0)])
    request = sync_request(CONFIG, MEMBER, assignments={"m": [partition]}, protocol="range")

    (mine,) = request.assignments
    assert (mine.member_id, decode_assignment(bytes(mine.assignment))) == ("m", [partition])
    assert (request.generation_id, request.protocol_name) == (4, "range")


def test_heartbeat_and_leave_name_the_member() -> None:
    assert heartbeat_request(CONFIG, MEMBER).generation_id == 4
    (left,) = leave_request(CONFIG, MEMBER, reason="why").members
    assert (left.member_id, left.group_instance_id, left.reason) == ("m", "i", "why")


def test_heartbeat_is_due_an_interval_after_the_last_response() -> None:
    times = ClassicHeartbeats(CONFIG)
    times.start(0)

    assert (times.take_due(2_999), times.take_due(3_000), times.take_due(3_000)) == (
        False,
        True,
        False,
    )
    times.succeed(3_100)
    assert times.times == (6_100, None)


def test_heartbeat_is_repeated_after_an_error() -> None:
    times = ClassicHeartbeats(CONFIG)
    times.start(0)

    times.fail(10, 100)

    assert times.times == (110, None)


def test_no_heartbeat_is_scheduled_after_stop() -> None:
    times = ClassicHeartbeats(CONFIG)
    times.start(0)
    times.stop()

    times.succeed(5)
    times.fail(5, 1)

    assert times.times == (None, None)
    assert not times.is_poll_late(1e9)
