"""Tests of requests that wait for the image of the cluster."""

import asyncio
from collections.abc import Callable

from cordwood.broker.cluster_admin.topic_purgatory import TopicPurgatory
from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.broker.metadata.metadata_image import ClusterImage
from cordwood.broker.network.stop_signal import StopSignal
from cordwood.broker.topics.request_deadline import RequestDeadline
from cordwood.testing.virtual_clock import VirtualClock
from tests.unit.broker.broker_samples import meanwhile, run
from tests.unit.broker.image_samples import cluster, topic

Steps = Callable[[TopicPurgatory, MetadataCache, VirtualClock], list[Callable[[], object]]]


def waited(steps: Steps, *, timeout_ms: int = 5) -> tuple[list[bool], float | None]:
    """Wait for the topic `a`; return whether the wait was over before each step, and the timer."""

    async def scene() -> tuple[list[bool], float | None]:
        clock, metadata = VirtualClock(), MetadataCache(cluster())
        purgatory = TopicPurgatory(metadata)
        deadline = RequestDeadline(clock, clock, timeout_ms=timeout_ms)
        wait = purgatory.wait(lambda image: "a" in image.topics, deadline)
        over, _ = await asyncio.wait_for(
            meanwhile(wait, *steps(purgatory, metadata, clock)), timeout=None
        )
        metadata.publish(metadata.image.with_topic(topic("later")))
        return over, clock.next_call_ms()

    return run(scene())


def publish(metadata: MetadataCache, name: str) -> Callable[[], object]:
    return lambda: metadata.publish(metadata.image.with_topic(topic(name)))


def test_wait_ends_with_the_image_that_fulfils_its_condition() -> None:
    over, timer = waited(lambda _, metadata, __: [publish(metadata, "b"), publish(metadata, "a")])

    assert (over, timer) == ([False, False], None)


def test_wait_ends_at_the_deadline() -> None:
    assert waited(lambda _, __, clock: [lambda: clock.advance(ms=5)]) == ([False], None)


def test_wait_ends_at_the_shutdown() -> None:
    assert waited(lambda purgatory, _, __: [purgatory.close]) == ([False], None)


def test_deadline_that_is_over_ends_the_wait_at_once() -> None:
    assert waited(lambda _, __, ___: [lambda: None], timeout_ms=0) == ([True], None)


def test_condition_of_a_wait_that_has_ended_is_not_looked_at() -> None:
    async def scene() -> int:
        clock, metadata, looks = VirtualClock(), MetadataCache(cluster()), list[int]()

        def is_complete(image: ClusterImage) -> bool:
            looks.append(image.epoch)
            return "a" in image.topics

        deadline = RequestDeadline(clock, clock, timeout_ms=5)
        wait = TopicPurgatory(metadata).wait(is_complete, deadline)
        await meanwhile(wait, publish(metadata, "a"))
        before = len(looks)
        publish(metadata, "b")()
        return len(looks) - before

    assert run(scene()) == 0


def test_nothing_waits_for_a_condition_that_holds_or_after_the_shutdown() -> None:
    async def scene() -> None:
        clock, metadata = VirtualClock(), MetadataCache(cluster(topic("a")))
        purgatory = TopicPurgatory(metadata)
        deadline = RequestDeadline(clock, clock, timeout_ms=5)
        await purgatory.wait(lambda image: "a" in image.topics, deadline)
        purgatory.close()
        await purgatory.wait(lambda _: False, deadline)

    run(scene())


def test_wait_ends_with_the_connection() -> None:
    async def scene() -> list[bool]:
        clock, stopping = VirtualClock(), StopSignal()
        purgatory = TopicPurgatory(MetadataCache(cluster()))
        deadline = RequestDeadline(clock, clock, timeout_ms=5)
        over, _ = await meanwhile(
            purgatory.wait(lambda _: False, deadline, stopping=stopping),
            lambda: None,
            stopping.fire,
        )
        return over

    assert run(scene()) == [False, False]
