"""Errors of positions: pauses, warnings and resets."""

import logging

import pytest

from cordwood.client.consumer.offset_fetcher import EARLIEST
from cordwood.client.consumer.position_errors import PositionErrors
from cordwood.client.consumer.subscription_state import TopicPartitionState
from cordwood.client.network.network_client import NetworkClient
from cordwood.client.network.owned_tasks import WakeupSignal
from cordwood.client.network.runtime import system_runtime
from cordwood.client.settings import ConsumerSettings
from cordwood.client.topic_partitions import partitions_of
from cordwood.core.errors import NetworkError, OffsetOutOfRangeError, UnknownLeaderEpochError
from tests.unit.client.fake_broker import run

(READ,) = partitions_of([("t", 0)])
PAUSES_MS = (100, 200, 400, 800, 1_000, 1_000)


def errors(reset: str = "earliest") -> PositionErrors:
    settings = ConsumerSettings(bootstrap_servers="127.0.0.1:1", auto_offset_reset=reset)
    client = NetworkClient(settings, system_runtime(), None)
    return PositionErrors(client, settings, WakeupSignal(client.runtime))


def at(offset: int) -> TopicPartitionState:
    position = TopicPartitionState(READ)
    position.seek(offset)
    return position


def test_pauses_double_up_to_the_limit() -> None:
    async def scene() -> None:
        handling, position = errors(), at(5)
        client = handling._client  # noqa: SLF001 - its clock
        for expected_ms in PAUSES_MS:
            now_ms = client.runtime.now_ms()
            handling.retry_later(position, NetworkError("gone"))
            assert position.not_before_ms - now_ms >= 0.8 * expected_ms
        await client.close()

    run(scene())


def test_rejections_in_a_row_are_logged_more_and_more_rarely(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scene() -> None:
        handling, position = errors(), at(5)
        position.validated_epoch = 7
        for _ in range(9):
            handling.retry_later(position, UnknownLeaderEpochError("t-0: unknown"))
        assert handling._client.rejected == {READ}  # noqa: SLF001 - what it has noted
        await handling._client.close()  # noqa: SLF001 - opened here

    with caplog.at_level(logging.WARNING):
        run(scene())

    told = [record.getMessage() for record in caplog.records]
    assert [text.partition(" rejected ")[2].split()[0] for text in told] == ["4", "8"]
    assert all(text.startswith("t-0: unknown; broker") for text in told)
    assert all("leader epoch 7" in text for text in told)


def test_reset_is_logged_and_moves_the_position(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        handling, position = errors(), at(5)
        handling.reset(position, "t-0: no offset 5")
        assert (position.offset, position.reset_target) == (None, EARLIEST)
        await handling._client.close()  # noqa: SLF001 - opened here

    with caplog.at_level(logging.WARNING):
        run(scene())

    assert "t-0: no offset 5; auto_offset_reset applies" in caplog.text


def test_error_without_a_reset_is_left_to_poll() -> None:
    async def scene() -> None:
        handling, position = errors("none"), at(5)
        handling.reset(position, "t-0: no offset 5")
        assert isinstance(position.problem, OffsetOutOfRangeError)
        assert position.offset == 5
        await handling._client.close()  # noqa: SLF001 - opened here

    run(scene())


def test_reset_by_duration_is_a_lookup_by_timestamp() -> None:
    async def scene() -> None:
        handling = errors("by_duration:PT1H")
        client = handling._client  # noqa: SLF001 - its clock
        before_ms = client.runtime.clock.now_ms()
        target = handling.reset_target
        assert target is not None
        assert 0 <= target - (before_ms - 3_600_000) < 60_000
        await client.close()

    run(scene())
