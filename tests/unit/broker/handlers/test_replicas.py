"""Tests of the handlers of the controller's requests."""

import pytest

from cordwood.broker.handlers.replicas import (
    error_response,
    leader_and_isr,
    stop_replica,
    update_metadata,
)
from cordwood.broker.network.request_context import RequestContext
from cordwood.core.errors import StaleControllerEpochError, UnsupportedVersionError
from cordwood.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from cordwood.protocol.messages.stop_replica import StopReplicaRequest
from cordwood.protocol.messages.update_metadata import UpdateMetadataRequest
from tests.unit.broker.broker_samples import run
from tests.unit.broker.membership.test_metadata_updates import request, state
from tests.unit.broker.membership.test_replica_requests import Member
from tests.unit.broker.membership.test_replica_roles import assignment
from tests.unit.broker.membership.test_replica_roles import state as role

STOP = StopReplicaRequest(controller_id=2, controller_epoch=1, topic_states=[])


def member() -> tuple[Member, RequestContext]:
    found = Member()
    found.harness.broker.replicas = found.requests
    return found, found.harness.context(7)


def test_requests_reach_the_replicas_of_the_broker() -> None:
    found, context = member()
    broker = found.harness.broker

    assert run(leader_and_isr(broker, context, assignment(role()))).error_code == 0
    assert run(update_metadata(broker, context, request(state(0)))).error_code == 0
    assert run(stop_replica(broker, context, STOP)).error_code == 0

    assert broker.partitions.get("orders", 0).leader_epoch == 0
    assert "orders" in broker.metadata.image.topics


def test_requests_without_topic_ids_are_refused() -> None:
    found, context = member()
    broker = found.harness.broker

    with pytest.raises(UnsupportedVersionError, match="of version 4 has no topic ids"):
        run(leader_and_isr(broker, context._replace(api_version=4), assignment(role())))
    with pytest.raises(UnsupportedVersionError, match="of version 2 has no topic ids"):
        run(stop_replica(broker, context._replace(api_version=2), STOP))
    with pytest.raises(UnsupportedVersionError, match="of version 6 has no topic ids"):
        run(update_metadata(broker, context._replace(api_version=6), request()))


@pytest.mark.parametrize(
    "rejected",
    (
        LeaderAndIsrRequest(controller_id=1, controller_epoch=1, live_leaders=[]),
        STOP,
        UpdateMetadataRequest(controller_id=1, controller_epoch=1, live_brokers=[]),
    ),
    ids=lambda each: type(each).__name__,
)
def test_error_is_that_of_the_whole_request(
    rejected: LeaderAndIsrRequest | StopReplicaRequest | UpdateMetadataRequest,
) -> None:
    error = StaleControllerEpochError("replaced")

    response = error_response(rejected, error, version=7)

    assert getattr(response, "error_code") == error.code  # noqa: B009  # each of them has it
