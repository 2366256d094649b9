"""Tests of the metadata cache."""

import pytest

from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.broker.metadata.metadata_image import ClusterImage
from tests.unit.broker.image_samples import cluster, topic


def epoch_of(image: ClusterImage) -> list[int]:
    return [image.epoch]


def test_published_image_is_the_current_one() -> None:
    metadata = MetadataCache(cluster())

    metadata.publish(metadata.image.with_topic(topic("a")))

    assert [*metadata.image.topics] == ["a"]


def test_older_image_is_not_published() -> None:
    metadata = MetadataCache(cluster())

    with pytest.raises(AssertionError, match="replaces an older one"):
        metadata.publish(metadata.image)


def test_derived_value_is_computed_once_an_image() -> None:
    metadata = MetadataCache(cluster())

    assert metadata.derive("key", epoch_of) is metadata.derive("key", epoch_of)
    assert metadata.derive("key", epoch_of) is not metadata.derive("other", epoch_of)


def test_derived_value_of_an_earlier_image_is_dropped() -> None:
    metadata = MetadataCache(cluster())
    before = metadata.derive("key", epoch_of)

    metadata.publish(metadata.image.with_topic(topic("a")))

    assert metadata.derive("key", epoch_of) == [before[0] + 1]
