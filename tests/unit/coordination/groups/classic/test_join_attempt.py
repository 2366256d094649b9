"""The fields of a JoinGroup request, in every version."""

import pytest

from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.groups.classic.classic_group_member import MemberProtocol, WaitingJoin
from cordwood.coordination.groups.classic.join_attempt import JoinAttempt, attempt_of
from cordwood.coordination.outcome import Ticket
from cordwood.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol


def attempt(version: int) -> JoinAttempt:
    frame = bytearray(b"meta")
    request = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        member_id="",
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=memoryview(frame))],
    )
    client = ClientContext(version, "c", "/127.0.0.1")
    made = attempt_of(request, client, ticket=Ticket(1), new_member_id="m")
    frame[:] = b"gone"
    return made


@pytest.mark.parametrize(("version", "timeout_ms"), ((0, 10_000), (1, 60_000), (9, 60_000)))
def test_session_timeout_is_the_rebalance_timeout_of_version_0(
    version: int, timeout_ms: int
) -> None:
    assert attempt(version).rebalance_timeout_ms == timeout_ms


def test_metadata_is_copied_out_of_the_frame() -> None:
    assert attempt(9).protocols == (MemberProtocol("range", b"meta"),)


def test_member_is_new_and_has_the_fields_of_request_and_client() -> None:
    member = attempt(9).member("m")

    assert (member.member_id, member.client_id, member.client_host) == ("m", "c", "/127.0.0.1")
    assert (member.session_timeout_ms, member.rebalance_timeout_ms) == (10_000, 60_000)
    assert member.is_new
    assert not member.is_static


def test_request_waits_with_its_version() -> None:
    assert attempt(5).waiting == WaitingJoin(Ticket(1), 5)
