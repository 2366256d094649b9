"""Tests of the plans of topic requests."""

import pytest

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.metadata.metadata_image import TopicImage
from cordwood.broker.topics.topic_planning import NewPartitions, PlannedTopic, TopicPlanner
from cordwood.broker.topics.topic_validation import NewTopic
from cordwood.core.errors import (
    InvalidPartitionsError,
    PolicyViolationError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)
from cordwood.testing.seeded_random import SeededRandom
from tests.unit.broker.image_samples import cluster, topic


def planner(*taken: str) -> TopicPlanner:
    image = cluster(topic("orders"))
    return TopicPlanner(image, BrokerConfigs(1, []), SeededRandom(1), taken=taken)


def test_new_topic_is_planned_with_its_configuration() -> None:
    new = NewTopic(name="new", partitions=2, configs=[("retention.ms", "5")])

    planned = planner().plan(new)

    assert isinstance(planned, PlannedTopic)
    assert (len(planned.image.partitions), planned.texts) == (2, {"retention.ms": "5"})


@pytest.mark.parametrize("name", ("orders", "soon"))
def test_names_that_exist_or_are_taken_are_rejected(name: str) -> None:
    assert isinstance(planner("soon").plan(NewTopic(name=name)), TopicAlreadyExistsError)


def test_request_for_too_many_partitions_is_rejected() -> None:
    with pytest.raises(PolicyViolationError):
        planner().check_count([NewTopic(name="new", partitions=10_001)])


def test_topic_grows_by_new_partitions() -> None:
    outcomes = [planner().plan_growth(NewPartitions(*each)) for each in (("orders", 3), ("x", 3))]

    grown, refused = outcomes
    assert isinstance(grown, TopicImage)
    assert len(grown.partitions) == 3
    assert isinstance(refused, UnknownTopicOrPartitionError)
    assert isinstance(planner().plan_growth(NewPartitions("orders", 1)), InvalidPartitionsError)
