"""Tests of the controller's requests to a broker."""

import pytest

from cordwood.broker.membership.controller_fence import ControllerFence
from cordwood.broker.membership.replica_requests import ReplicaRequests
from cordwood.broker.membership.replica_roles import ReplicaRoles
from cordwood.core.errors import StaleControllerEpochError
from cordwood.protocol.messages.stop_replica import StopReplicaRequest
from cordwood.protocol.messages.update_metadata import UpdateMetadataRequest
from tests.unit.broker.broker_samples import BrokerHarness, run
from tests.unit.broker.membership.test_metadata_updates import request, state
from tests.unit.broker.membership.test_replica_roles import Followers, assignment
from tests.unit.broker.membership.test_replica_roles import state as role


async def nothing_to_load(_: object) -> None:
    """Load no configuration."""


class Member:
    def __init__(self) -> None:
        self.harness = BrokerHarness()
        fence = ControllerFence(lambda: 50)
        roles = ReplicaRoles(fence, self.harness.hosting, Followers(), load_configs=nothing_to_load)
        self.requests = ReplicaRequests(fence, roles, self.harness.metadata)


def update(epoch: int) -> UpdateMetadataRequest:
    found = request(state(0))
    found.controller_epoch = epoch
    return found


def test_image_of_the_controller_is_published() -> None:
    member = Member()

    assert member.requests.update_metadata(update(1)).error_code == 0

    assert [*member.harness.metadata.image.topics] == ["orders"]


def test_all_requests_have_the_same_fence() -> None:
    member = Member()
    member.requests.update_metadata(update(3))
    stop = StopReplicaRequest(controller_id=2, controller_epoch=2, topic_states=[])

    with pytest.raises(StaleControllerEpochError):
        run(member.requests.leader_and_isr(assignment(role(), epoch=2)))
    with pytest.raises(StaleControllerEpochError):
        run(member.requests.stop_replica(stop))
    with pytest.raises(StaleControllerEpochError):
        member.requests.update_metadata(update(2))

    assert run(member.requests.leader_and_isr(assignment(role(), epoch=4))).error_code == 0
