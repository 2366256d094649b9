"""The present image, and what is made of it."""

import pytest

from cordwood.broker.image import ClusterImage
from cordwood.broker.metadata import Metadata
from tests.unit.broker.image_samples import cluster, topic


def epoch_of(image: ClusterImage) -> list[int]:
    return [image.epoch]


def test_published_image_is_the_present_one() -> None:
    metadata = Metadata(cluster())

    metadata.publish(metadata.image.with_topic(topic("a")))

    assert [*metadata.image.topics] == ["a"]


def test_older_image_is_not_published() -> None:
    metadata = Metadata(cluster())

    with pytest.raises(AssertionError, match="replaces an older one"):
        metadata.publish(metadata.image)


def test_what_is_made_of_an_image_is_made_once() -> None:
    metadata = Metadata(cluster())

    assert metadata.made("key", epoch_of) is metadata.made("key", epoch_of)
    assert metadata.made("key", epoch_of) is not metadata.made("other", epoch_of)


def test_what_was_made_of_an_earlier_image_is_forgotten() -> None:
    metadata = Metadata(cluster())
    before = metadata.made("key", epoch_of)

    metadata.publish(metadata.image.with_topic(topic("a")))

    assert metadata.made("key", epoch_of) == [before[0] + 1]
