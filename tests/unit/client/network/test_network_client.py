"""The network client: choice of the broker, metadata and retries."""

import asyncio
import logging
from contextlib import suppress

import pytest

from cordwood.client.network.network_client import NetworkClient
from cordwood.client.network.runtime import ClientRuntime, LoopTurn
from cordwood.client.settings import ClientSettings
from cordwood.client.topic_partitions import partitions_of
from cordwood.core.errors import (
    BrokerNotAvailableError,
    InvalidTopicError,
    NetworkError,
    NotControllerError,
    UnknownTopicOrPartitionError,
)
from cordwood.protocol.messages.api_versions import ApiVersionsRequest
from cordwood.protocol.messages.current_leader import LeaderIdAndEpoch, NodeEndpoint
from cordwood.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
)
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import VirtualClock
from tests.unit.client.fake_broker import NODE, FakeBroker, Hangup, broker, run
from tests.unit.client.samples import routed

NOBODY = "127.0.0.1:1"


def _hang_up(_: object) -> None:
    raise Hangup


def _invalid(fake: FakeBroker, request: MetadataRequest) -> MetadataResponse:
    answer = fake.metadata(request)
    answer.topics[0].error_code = InvalidTopicError.code
    return answer


def test_topic_metadata_is_fetched_once() -> None:
    async def scene() -> None:
        async with broker(t=2) as fake, routed(fake.address) as client:
            state = await client.topic("t", timeout_ms=60_000)
            assert sorted(state.partitions) == [0, 1]
            assert await client.leaders([("t", 1)]) == {NODE: partitions_of([("t", 1)])}
            assert len(fake.requests(MetadataRequest)) == 1

    run(scene())


def test_topic_that_is_created_later_is_awaited() -> None:
    async def scene() -> None:
        async with broker() as fake, routed(fake.address) as client:
            fake.script(MetadataRequest, fake.metadata, _hang_up, fake.metadata)

            def create() -> None:
                fake.topics["t"] = 1

            client.on_change = create
            assert (await client.topic("t", timeout_ms=60_000)).partitions

    run(scene())


def test_error_for_a_missing_topic_has_a_remedy() -> None:
    async def scene() -> None:
        async with broker() as fake, routed(fake.address) as client:
            with pytest.raises(UnknownTopicOrPartitionError, match=r"'t'; create it") as caught:
                await client.topic("t", timeout_ms=300)
            assert "tried for 300 ms" in caught.value.__notes__[0]

    run(scene())


def test_invalid_topic_is_rejected_without_a_retry() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, routed(fake.address) as client:
            fake.script(MetadataRequest, lambda request: _invalid(fake, request))
            with pytest.raises(InvalidTopicError):
                await client.topic("t", timeout_ms=60_000)

    run(scene())


def test_missing_partition_is_named() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, routed(fake.address) as client:
            with pytest.raises(UnknownTopicOrPartitionError, match="no partition 7"):
                await client.leaders([("t", 7)])

    run(scene())


def test_bootstrap_continues_to_an_available_broker() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, routed(NOBODY, fake.address) as client:
            assert [each.name for each in await client.current_topics()] == ["t"]

    run(scene())


def test_unreachable_cluster_raises_with_a_remedy() -> None:
    async def scene() -> None:
        async with routed(NOBODY) as client:
            with pytest.raises(NetworkError, match="check the bootstrap servers"):
                await client.refresh()

    run(scene())


def test_lost_broker_is_logged_once_and_once_more_when_it_is_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "cordwood.client")

    async def scene() -> None:
        async with broker() as fake, routed(fake.address) as client:
            await client.refresh()
            (await client.connection(NODE)).close()
            fake.script(ApiVersionsRequest, _hang_up, _hang_up)
            for _ in range(2):
                with pytest.raises(NetworkError):
                    await client.connection(NODE)
            await client.connection(NODE)

    run(scene())

    lost, back = caplog.messages
    assert lost.endswith(" closed the connection; it is tried again until it answers")
    assert back == f"{lost.partition(' closed')[0]} can be reached again"


def test_unknown_broker_is_rejected() -> None:
    async def scene() -> None:
        async with broker() as fake, routed(fake.address) as client:
            await client.refresh()
            with pytest.raises(BrokerNotAvailableError, match="no broker 7"):
                await client.connection(7)

    run(scene())


def test_broken_connection_is_reopened() -> None:
    async def scene() -> None:
        async with broker() as fake, routed(fake.address) as client:
            await client.refresh()
            (await client.connection(NODE)).close()
            assert client.ready(NODE) is None
            assert (await client.connection(NODE)).is_usable
            assert client.ready(NODE) is not None

    run(scene())


def test_retry_refreshes_the_metadata() -> None:
    async def scene() -> None:
        async with broker() as fake, routed(fake.address) as client:
            errors = [NotControllerError(), NotControllerError()]

            async def attempt() -> str:
                if errors:
                    raise errors.pop()
                return "done"

            assert await client.retry_until_timeout(attempt) == "done"
            assert len(fake.requests(MetadataRequest)) == 2

    run(scene())


def test_leader_that_an_answer_names_counts() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, routed(fake.address) as client:
            await client.topic("t", timeout_ms=60_000)
            response = [("t", 0, LeaderIdAndEpoch(leader_id=5, leader_epoch=9))]

            client.update_leaders(response, [NodeEndpoint(node_id=5, host="h", port=1)])

            assert client.cluster.leader_of("t", 0) == 5

    run(scene())


def test_forgotten_topic_is_no_longer_requested() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, routed(fake.address) as client:
            await client.topic("t", timeout_ms=60_000)
            client.forget_topic("t")
            await client.refresh()
            assert fake.requests(MetadataRequest)[-1].topics == []

    run(scene())


def test_unused_topic_is_no_longer_requested_and_so_not_created_again() -> None:
    async def scene() -> None:
        clock = VirtualClock()
        async with broker(idle=1, t=1) as fake:
            settings = ClientSettings(bootstrap_servers=fake.address, metadata_max_idle_ms=10_000)
            client = NetworkClient(settings, ClientRuntime(clock, clock, SeededRandom(1)), None)
            client.topics.in_use = lambda: ["t"]
            for name in ("idle", "t"):
                await client.topic(name, timeout_ms=60_000)
            clock.advance(seconds=11)
            await client.refresh()
            assert [each.name for each in fake.requests(MetadataRequest)[-1].topics or ()] == ["t"]
            assert list(client.cluster.topics) == ["t"]
            assert (await client.topic("idle", timeout_ms=60_000)).partitions
            await client.close()

    run(scene())


def test_description_of_all_topics_keeps_no_metadata() -> None:
    async def scene() -> None:
        async with broker(t=1, u=1) as fake, routed(fake.address) as client:
            assert len(await client.current_topics()) == 2
            assert not client.cluster.topics

    run(scene())


def test_leader_that_cannot_be_reached_is_looked_up_again() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, routed(fake.address) as client:

            def moved(request: MetadataRequest) -> MetadataResponse:
                answer = fake.metadata(request)
                answer.topics[0].partitions[0].leader_id = 7
                host, port = NOBODY.split(":")
                gone = MetadataResponseBroker(node_id=7, host=host, port=int(port))
                answer.brokers = [*answer.brokers, gone]
                return answer

            fake.script(MetadataRequest, moved, moved, fake.metadata)
            await client.topic("t", timeout_ms=60_000)
            found = asyncio.Event()

            def look() -> None:
                leader = client.cluster.leader_of("t", 0)
                if leader is not None and client.ready(leader) is not None:
                    found.set()

            client.on_change = look
            look()
            await found.wait()
            assert len(fake.requests(MetadataRequest)) == 3

    run(scene())


def test_cancelled_close_closes_the_connections() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, routed(fake.address) as client:
            await client.refresh()
            made = await client.connection(NODE)
            waiting = client.tasks.start(_end_at_second_cancellation())
            closing = asyncio.ensure_future(client.close())
            await LoopTurn()
            await LoopTurn()
            assert not waiting.done()
            closing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await closing
            assert not made.is_usable

    run(scene())


async def _end_at_second_cancellation() -> None:
    with suppress(asyncio.CancelledError):
        await asyncio.Event().wait()
    await asyncio.Event().wait()
