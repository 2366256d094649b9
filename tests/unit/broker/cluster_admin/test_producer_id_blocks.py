"""Tests of blocks of producer ids from the controller."""

from collections.abc import Callable

import pytest

from cordwood.broker.cluster_admin.producer_id_blocks import (
    BACKOFF_MS,
    RETRIED_MS,
    ProducerIdBlocks,
)
from cordwood.core.errors import (
    BrokerIdNotRegisteredError,
    BrokerNotAvailableError,
    ClusterAuthorizationFailedError,
    CoordinatorLoadInProgressError,
    KafkaError,
    NetworkError,
    NotControllerError,
    RequestTimedOutError,
    StaleBrokerEpochError,
    UnknownServerError,
)
from cordwood.protocol.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from tests.simulation.world import World

Outcome = KafkaError | AllocateProducerIdsResponse


def block(start: int, count: int = 1000) -> AllocateProducerIdsResponse:
    return AllocateProducerIdsResponse(error_code=0, producer_id_start=start, producer_id_len=count)


def failed(error: type[KafkaError]) -> AllocateProducerIdsResponse:
    return AllocateProducerIdsResponse(
        error_code=error.code, producer_id_start=0, producer_id_len=0
    )


class Controller:
    """A controller with these outcomes, of which the last one stays."""

    def __init__(self, *outcomes: Outcome) -> None:
        self._outcomes = [*outcomes]
        self.requests = list[tuple[int, int]]()

    async def send(self, request: AllocateProducerIdsRequest) -> AllocateProducerIdsResponse:
        self.requests.append((request.broker_id, request.broker_epoch))
        outcome = self._outcomes.pop(0) if len(self._outcomes) > 1 else self._outcomes[0]
        if isinstance(outcome, KafkaError):
            raise outcome
        return outcome


def allocate(
    controller: Controller, count: int = 1, *, epoch: Callable[[], int] = lambda: 7
) -> tuple[list[range], float]:
    """Return allocated blocks, and the time that it took."""
    world, blocks = World(0), list[range]()
    source = ProducerIdBlocks(
        controller.send,
        broker_id=3,
        broker_epoch=epoch,
        clock=world.clock,
        scheduler=world.clock,
    )

    async def scene() -> None:
        for _ in range(count):
            blocks.append(await source.allocate())
        ends.append(world.now_ms)

    ends = list[float]()
    with world.loop.running():
        world.begin(scene())
        world.run_until(10 * RETRIED_MS)
    for error in world.loop.errors:
        raise error
    return blocks, ends[0]


def test_blocks_are_requested_with_the_id_and_the_epoch_of_the_broker() -> None:
    controller = Controller(block(1000), block(5000, 10))

    blocks, _ = allocate(controller, 2)

    assert blocks == [range(1000, 2000), range(5000, 5010)]
    assert controller.requests == [(3, 7), (3, 7)]


@pytest.mark.parametrize(
    "outcome",
    (
        failed(NotControllerError),
        failed(StaleBrokerEpochError),
        failed(BrokerIdNotRegisteredError),
        NotControllerError(),
        NetworkError(),
        RequestTimedOutError(),
        BrokerNotAvailableError(),
    ),
    ids=str,
)
def test_passing_failure_is_retried_after_a_backoff(outcome: Outcome) -> None:
    controller, epochs = Controller(outcome, outcome, block(0)), iter((7, 8, 9))

    blocks, took_ms = allocate(controller, epoch=lambda: next(epochs))

    assert blocks == [range(1000)]
    assert took_ms == 2 * BACKOFF_MS
    assert controller.requests == [(3, 7), (3, 8), (3, 9)]


def test_controller_that_stays_away_is_reported_as_loading() -> None:
    controller = Controller(NetworkError("cut"))

    with pytest.raises(CoordinatorLoadInProgressError, match="no producer ids yet: cut"):
        allocate(controller)

    assert len(controller.requests) == RETRIED_MS / BACKOFF_MS + 1


def test_other_error_is_raised_at_once() -> None:
    controller = Controller(failed(ClusterAuthorizationFailedError))

    with pytest.raises(ClusterAuthorizationFailedError):
        allocate(controller)

    assert len(controller.requests) == 1


@pytest.mark.parametrize("second", (block(1000), block(1999), block(0), block(3000, 0)))
def test_block_with_used_ids_is_rejected(second: AllocateProducerIdsResponse) -> None:
    with pytest.raises(UnknownServerError, match="begins at 2000 or later"):
        allocate(Controller(block(1000), second), 2)
