"""Tests of the flows of events."""

import asyncio
from typing import TYPE_CHECKING

import pytest

from cordwood.cluster.active_controller.broker_request_queue import BrokerAnswer
from cordwood.cluster.active_controller.controller_events import (
    ProducerIdsWanted,
    Submission,
    flow_of,
)
from cordwood.cluster.zookeeper.store.metadata_event import ControllerChanged
from cordwood.core.errors import StaleBrokerEpochError
from cordwood.protocol.messages.update_metadata import (
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from tests.unit.cluster.controller.controller_samples import cluster_context

if TYPE_CHECKING:
    from cordwood.protocol.schema import Response


def test_answer_without_a_use_has_no_flow() -> None:
    request = UpdateMetadataRequest(controller_id=1, controller_epoch=1, live_brokers=[])
    answer = BrokerAnswer(2, request, UpdateMetadataResponse(error_code=0))

    assert flow_of(cluster_context(), answer) is None
    assert flow_of(cluster_context(), ControllerChanged(1)) is None


def test_submission_is_answered_once() -> None:
    async def scene() -> None:
        response: asyncio.Future[Response | range] = asyncio.get_running_loop().create_future()
        submission = Submission(ProducerIdsWanted(1, 2), 0, response)
        submission.respond(StaleBrokerEpochError("old"))
        submission.respond(range(3))

        with pytest.raises(StaleBrokerEpochError):
            await response

    asyncio.run(scene())
