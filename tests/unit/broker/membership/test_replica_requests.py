"""Tests of the controller's requests to a broker."""

import asyncio
from dataclasses import replace

import pytest

from cordwood.broker.membership.controller_fence import UNKNOWN_BROKER_EPOCH, ControllerFence
from cordwood.broker.membership.replica_requests import SMALL_UPDATE, ReplicaRequests
from cordwood.broker.membership.replica_roles import ReplicaRoles
from cordwood.core.errors import (
    InvalidRequestError,
    StaleBrokerEpochError,
    StaleControllerEpochError,
)
from cordwood.core.ports import Worker
from cordwood.protocol.messages.stop_replica import StopReplicaRequest
from cordwood.protocol.messages.update_metadata import UpdateMetadataRequest
from cordwood.testing.inline_worker import InlineWorker
from tests.unit.broker.broker_samples import BrokerHarness, run, turns
from tests.unit.broker.membership.test_metadata_updates import request, state
from tests.unit.broker.membership.test_replica_roles import Followers, assignment
from tests.unit.broker.membership.test_replica_roles import state as role
from tests.unit.storage.manager_samples import HeldWorker


async def nothing_to_load(_: object) -> None:
    """Load no configuration."""


class Member:
    def __init__(self, worker: Worker | None = None) -> None:
        self.harness = BrokerHarness()
        self.broker_epoch = 50
        self.registered = asyncio.Event()
        self.registered.set()
        fence = ControllerFence(lambda: self.broker_epoch)
        roles = ReplicaRoles(fence, self.harness.hosting, Followers(), load_configs=nothing_to_load)
        self.fence = fence
        self.requests = ReplicaRequests(
            fence,
            roles,
            self.harness.metadata,
            registered=self.registered.wait,
            worker=worker or InlineWorker(),
        )


def update(epoch: int, partitions: int = 1) -> UpdateMetadataRequest:
    found = request(*map(state, range(partitions)))
    found.controller_epoch = epoch
    return found


def test_image_of_the_controller_is_published() -> None:
    member = Member()

    assert run(member.requests.update_metadata(update(1), connection_id=1)).error_code == 0

    assert [*member.harness.metadata.image.topics] == ["orders"]


def test_all_requests_have_the_same_fence() -> None:
    member = Member()
    run(member.requests.update_metadata(update(3), connection_id=1))
    stop = StopReplicaRequest(controller_id=2, controller_epoch=2, topic_states=[])

    with pytest.raises(StaleControllerEpochError):
        run(member.requests.leader_and_isr(assignment(role(), epoch=2), connection_id=1))
    with pytest.raises(StaleControllerEpochError):
        run(member.requests.stop_replica(stop, connection_id=1))
    with pytest.raises(StaleControllerEpochError):
        run(member.requests.update_metadata(update(2), connection_id=1))

    assert (
        run(member.requests.leader_and_isr(assignment(role(), epoch=4), connection_id=1)).error_code
        == 0
    )


def test_requests_for_the_process_before_this_one_are_rejected_after_the_registration() -> None:
    member = Member()
    member.broker_epoch = UNKNOWN_BROKER_EPOCH
    member.registered.clear()
    roles, image = assignment(role(), epoch=1), update(1)
    stop = StopReplicaRequest(controller_id=2, controller_epoch=1, topic_states=[])
    for each in (roles, image, stop):
        each.broker_epoch = 50

    async def scene() -> list[object]:
        requests = member.requests
        waiting = [
            asyncio.ensure_future(requests.leader_and_isr(roles, connection_id=1)),
            asyncio.ensure_future(requests.stop_replica(stop, connection_id=1)),
            asyncio.ensure_future(requests.update_metadata(image, connection_id=1)),
        ]
        await turns(3)
        assert not any(each.done() for each in waiting)
        member.broker_epoch = 60
        member.registered.set()
        return await asyncio.gather(*waiting, return_exceptions=True)

    assert [type(each) for each in run(scene())] == [StaleBrokerEpochError] * 3
    assert member.harness.metadata.image.topics == {}


def test_invalid_update_changes_neither_the_image_nor_the_fence() -> None:
    member = Member()
    before = member.harness.metadata.image
    invalid = update(9)
    invalid.live_brokers = []

    with pytest.raises(InvalidRequestError):
        run(member.requests.update_metadata(invalid, connection_id=1))

    assert member.harness.metadata.image is before
    assert member.fence.controller_epoch == 0


def test_image_of_many_partitions_is_computed_on_the_worker_from_the_latest_one() -> None:
    worker = HeldWorker()
    member = Member(worker)
    metadata = member.harness.metadata

    async def scene() -> None:
        answering = asyncio.ensure_future(
            member.requests.update_metadata(update(1, SMALL_UPDATE + 1), connection_id=1)
        )
        await turns(3)
        assert len(worker.held) == 1
        image = replace(metadata.image, cluster_id="changed", epoch=metadata.image.epoch + 1)
        metadata.publish(image)
        worker.go_on()
        await turns(3)
        worker.go_on()
        assert (await answering).error_code == 0

    run(scene())

    assert len(metadata.image.topics["orders"].partitions) == SMALL_UPDATE + 1
    assert metadata.image.cluster_id == "changed"


def test_update_of_an_earlier_controller_that_was_computed_meanwhile_is_not_published() -> None:
    worker = HeldWorker()
    member = Member(worker)

    async def scene() -> None:
        answering = asyncio.ensure_future(
            member.requests.update_metadata(update(1, SMALL_UPDATE + 1), connection_id=1)
        )
        await turns(3)
        member.fence.admit(controller_epoch=2, broker_epoch=50, connection_id=1)
        worker.go_on()
        with pytest.raises(StaleControllerEpochError):
            await answering

    run(scene())

    assert not member.harness.metadata.image.topics
