"""Tests of the metadata cache."""

import asyncio

import pytest

from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.broker.metadata.metadata_image import ClusterImage
from tests.unit.broker.broker_samples import turns
from tests.unit.broker.image_samples import cluster, topic


async def epoch_of(image: ClusterImage) -> list[int]:
    return [image.epoch]


def test_published_image_is_the_current_one() -> None:
    metadata = MetadataCache(cluster())

    metadata.publish(metadata.image.with_topic(topic("a")))

    assert [*metadata.image.topics] == ["a"]


def test_every_later_image_is_given_to_the_callbacks() -> None:
    metadata, seen = MetadataCache(cluster()), list[ClusterImage]()
    metadata.on_publish(seen.append)

    metadata.publish(metadata.image.with_topic(topic("a")))

    assert seen == [metadata.image]


def test_older_image_is_not_published() -> None:
    metadata = MetadataCache(cluster())

    with pytest.raises(AssertionError, match="replaces an older one"):
        metadata.publish(metadata.image)


def test_derived_value_is_computed_once_an_image() -> None:
    metadata = MetadataCache(cluster())

    async def scene() -> list[list[int]]:
        return [await metadata.derive(key, epoch_of) for key in ("key", "key", "other")]

    first, second, other = asyncio.run(scene())
    assert first is second
    assert first is not other


def test_derived_value_of_an_earlier_image_is_dropped() -> None:
    metadata = MetadataCache(cluster())
    before = asyncio.run(metadata.derive("key", epoch_of))

    metadata.publish(metadata.image.with_topic(topic("a")))

    assert asyncio.run(metadata.derive("key", epoch_of)) == [before[0] + 1]


class HeldValue:
    """A value whose computation ends when the test lets it."""

    def __init__(self) -> None:
        self.begun = 0
        self.ends = asyncio.Event()

    async def make(self, image: ClusterImage) -> list[int]:
        self.begun += 1
        await self.ends.wait()
        return [image.epoch]


def test_callers_share_the_computation_of_a_value() -> None:
    async def scene() -> tuple[int, bool]:
        metadata, held = MetadataCache(cluster()), HeldValue()
        loop = asyncio.get_running_loop()
        callers = [loop.create_task(metadata.derive("key", held.make)) for _ in range(3)]
        await turns(2)
        held.ends.set()
        first, *others = [await each for each in callers]
        return held.begun, all(each is first for each in others)

    assert asyncio.run(scene()) == (1, True)


def test_next_caller_computes_a_value_when_the_first_is_cancelled() -> None:
    async def scene() -> tuple[int, list[int]]:
        metadata, held = MetadataCache(cluster()), HeldValue()
        loop = asyncio.get_running_loop()
        first, second = (loop.create_task(metadata.derive("key", held.make)) for _ in range(2))
        await turns(2)
        first.cancel()
        held.ends.set()
        return held.begun + 1, await second

    begun, value = asyncio.run(scene())
    assert (begun, value) == (2, [cluster().epoch])


def test_value_of_an_image_that_was_replaced_meanwhile_is_not_kept() -> None:
    async def scene() -> list[list[int]]:
        metadata, held = MetadataCache(cluster()), HeldValue()
        caller = asyncio.get_running_loop().create_task(metadata.derive("key", held.make))
        await turns(2)
        metadata.publish(metadata.image.with_topic(topic("a")))
        held.ends.set()
        return [await caller, await metadata.derive("key", epoch_of)]

    before = cluster().epoch
    assert asyncio.run(scene()) == [[before], [before + 1]]
