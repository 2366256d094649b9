"""The task of a member against a fake coordinator."""

import pytest

from cordwood.core.errors import InconsistentGroupProtocolError, UnsupportedVersionError
from cordwood.protocol.messages.api_versions import ApiVersionsRequest
from cordwood.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from cordwood.protocol.messages.find_coordinator import FindCoordinatorRequest
from cordwood.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from cordwood.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from cordwood.protocol.messages.leave_group import LeaveGroupRequest
from cordwood.protocol.schema import Response
from tests.unit.client.fake_broker import Hangup, run, versions
from tests.unit.client.fake_coordinator import MEMBER, coordinator, member, until
from tests.unit.client.samples import LONG_MS, batch, values


def refused(code: int, member_id: str = "") -> JoinGroupResponse:
    return JoinGroupResponse(
        error_code=code, protocol_name=None, leader="", member_id=member_id, members=[]
    )


def hang_up(_: object) -> Response:
    raise Hangup


def test_member_id_of_the_first_answer_is_used() -> None:
    async def scene() -> None:
        async with coordinator(t=1) as fake, member(fake) as reader:
            fake.script(JoinGroupRequest, lambda _: refused(79, "given"))
            fake.append("t", batch(b"a"))
            reader.subscribe(["t"])
            await values(reader, 1)
            assert [each.member_id for each in fake.requests(JoinGroupRequest)] == ["", "given"]

    run(scene())


@pytest.mark.parametrize("code", (14, 15, 16))
def test_join_is_retried_while_the_coordinator_is_not_ready(code: int) -> None:
    async def scene() -> None:
        async with coordinator(t=1) as fake, member(fake) as reader:
            fake.script(JoinGroupRequest, lambda _: refused(code))
            fake.append("t", batch(b"a"))
            reader.subscribe(["t"])
            await values(reader, 1)
            assert len(fake.requests(FindCoordinatorRequest)) == 1 + (code > 14)

    run(scene())


def test_member_survives_a_lost_connection() -> None:
    async def scene() -> None:
        async with coordinator(t=1) as fake, member(fake) as reader:
            fake.append("t", batch(b"a"))
            reader.subscribe(["t"])
            await values(reader, 1)
            fake.script(HeartbeatRequest, hang_up)
            await until(fake, lambda: len(fake.requests(HeartbeatRequest)) > 2)
            assert len(fake.requests(JoinGroupRequest)) == 1

    run(scene())


def test_user_that_polls_late_leaves_the_group() -> None:
    async def scene() -> None:
        options = {"max_poll_interval_ms": 60, "session_timeout_ms": 6_000}
        async with coordinator(t=1) as fake, member(fake, **options) as reader:
            fake.append("t", batch(b"a"))
            lost: list[object] = []
            reader.subscribe(["t"], on_lost=lost.append)
            await values(reader, 1)
            await until(fake, lambda: bool(fake.requests(LeaveGroupRequest)))
            while not lost:
                await reader.poll(5)

    run(scene())


def test_poll_that_waits_for_records_is_not_late() -> None:
    async def scene() -> None:
        async with coordinator(t=1) as fake, member(fake, max_poll_interval_ms=50) as reader:
            reader.subscribe(["t"])
            await reader.poll(250)
            assert fake.requests(LeaveGroupRequest) == []

    run(scene())


def test_leader_rejoins_when_a_topic_has_more_partitions() -> None:
    async def scene() -> None:
        async with coordinator(t=1) as fake, member(fake, metadata_max_age_ms=20) as reader:
            reader.subscribe(["t"])
            while len(reader.assignment()) < 1:
                await reader.poll(5)
            fake.topics["t"] = 3
            while len(reader.assignment()) < 3:
                await reader.poll(5)

    run(scene())


def test_invalid_metadata_of_a_member_are_a_final_error() -> None:
    invalid = JoinGroupResponse(
        error_code=0,
        generation_id=1,
        protocol_name="range",
        leader=MEMBER,
        member_id=MEMBER,
        members=[JoinGroupResponseMember(member_id=MEMBER, metadata=b"\x00")],
    )

    async def scene() -> None:
        async with coordinator(t=1) as fake, member(fake) as reader:
            fake.script(JoinGroupRequest, lambda _: invalid)
            reader.subscribe(["t"])
            with pytest.raises(InconsistentGroupProtocolError, match="group 'g'"):
                await reader.poll(LONG_MS)

    run(scene())


def test_leave_does_not_wait_for_a_join_that_the_coordinator_holds_back() -> None:
    async def scene() -> None:
        async with coordinator(t=1) as fake:
            async with member(fake) as reader:
                reader.subscribe(["t"])
                await reader.poll(100)
                fake.script(HeartbeatRequest, lambda _: HeartbeatResponse(error_code=27))
                fake.script(JoinGroupRequest, lambda _: None)
                while len(fake.requests(JoinGroupRequest)) < 2:
                    await reader.poll(5)
            assert len(fake.requests(LeaveGroupRequest)) == 1

    run(scene())


def test_join_that_waits_for_its_coordinator_is_not_sent_after_the_leave() -> None:
    async def scene() -> None:
        async with coordinator(t=1) as fake, member(fake) as reader:
            reader.subscribe(["t"])
            await reader.poll(0)
            await reader.unsubscribe()
            fake.append("t", batch(b"a"))
            reader.subscribe(["t"])
            await values(reader, 1)
            assert len(fake.requests(JoinGroupRequest)) == 1

    run(scene())


def test_broker_without_the_new_protocol_is_an_error_with_a_remedy() -> None:
    async def scene() -> None:
        async with coordinator(t=1) as fake, member(fake, group_protocol="consumer") as reader:
            for _ in range(4):
                fake.script(ApiVersionsRequest, lambda _: versions(ConsumerGroupHeartbeat=(70, 70)))
            reader.subscribe(["t"])
            with pytest.raises(UnsupportedVersionError, match=r"group 'g'.*group_protocol"):
                await reader.poll(LONG_MS)
            assert fake.requests(ConsumerGroupHeartbeatRequest) == []

    run(scene())
