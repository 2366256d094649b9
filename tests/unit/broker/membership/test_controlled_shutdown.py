"""Tests of a broker that gives up its leaderships before it stops."""

from collections.abc import Sequence

from cordwood.broker.membership.controlled_shutdown import ShutdownSettings, shut_down_controlled
from cordwood.core.errors import KafkaError, NetworkError, StaleControllerEpochError
from cordwood.protocol.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    RemainingPartition,
)
from tests.unit.broker.broker_samples import run

REQUEST = ControlledShutdownRequest(broker_id=1, broker_epoch=50)
DONE = ControlledShutdownResponse(error_code=0, remaining_partitions=[])
LEADS = ControlledShutdownResponse(
    error_code=0,
    remaining_partitions=[RemainingPartition(topic_name="orders", partition_index=3)],
)
MOVED = ControlledShutdownResponse(
    error_code=StaleControllerEpochError.code, remaining_partitions=[]
)


class Controller:
    def __init__(self, answers: Sequence[ControlledShutdownResponse | KafkaError]) -> None:
        self.answers = [*answers]
        self.pauses = list[float]()
        self.events = list[str]()

    async def send(
        self, request: ControlledShutdownRequest, _: object, *, timeout_ms: float
    ) -> ControlledShutdownResponse:
        assert request is REQUEST
        assert timeout_ms == 30_000
        answer = self.answers.pop(0)
        if isinstance(answer, KafkaError):
            raise answer
        return answer

    async def sleep_ms(self, ms: float) -> None:
        self.pauses.append(ms)


def shut_down(*answers: ControlledShutdownResponse | KafkaError) -> tuple[bool, Controller]:
    controller = Controller(answers)
    is_done = run(
        shut_down_controlled(
            REQUEST,
            ShutdownSettings(retries=2, backoff_ms=5_000, timeout_ms=30_000),
            controller=lambda: controller,  # type: ignore[arg-type, return-value]  # it is scripted
            sleep_ms=controller.sleep_ms,
            on_event=controller.events.append,
        )
    )
    assert not controller.answers
    return is_done, controller


def test_confirmed_shutdown_sends_one_request() -> None:
    is_done, controller = shut_down(DONE)

    assert is_done
    assert not controller.pauses
    assert not controller.events


def test_shutdown_is_repeated_until_nothing_remains() -> None:
    is_done, controller = shut_down(NetworkError("lost"), LEADS, DONE)

    assert is_done
    assert controller.pauses == [5_000, 5_000]


def test_broker_stops_after_the_last_attempt() -> None:
    is_done, controller = shut_down(MOVED, MOVED, LEADS)

    assert not is_done
    assert controller.pauses == [5_000, 5_000]
    assert controller.events[-1].endswith("all the same: it still leads 1 partition orders-3")


def test_each_attempt_that_fails_is_reported() -> None:
    _, controller = shut_down(NetworkError("lost"), LEADS, DONE)

    assert controller.events == [
        (
            "the controlled shutdown waits for the controller, and is tried again in 5000 ms,"
            f" at most {left}: {reason}"
        )
        for left, reason in (
            ("2 more times", "lost"),
            ("1 more time", "it still leads 1 partition orders-3"),
        )
    ]


def test_reason_of_a_failed_shutdown_is_reported() -> None:
    assert shut_down(MOVED, MOVED, MOVED)[1].events[-1].endswith("error code 11")
    assert shut_down(MOVED, MOVED, NetworkError("lost"))[1].events[-1].endswith("lost")
