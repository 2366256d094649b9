"""Tests of topic validation, with Kafka's error codes and messages."""

import re
from collections.abc import Sequence

import pytest

from cordwood.broker.metadata.replica_placer import Replicas
from cordwood.broker.topics.topic_validation import (
    MAX_NEW_PARTITIONS,
    ExistingTopicNames,
    NewTopic,
    TopicDefaults,
    check_configs,
    check_name,
    check_partition_count,
    missing_topic,
    plan_more_partitions,
    plan_replicas,
)
from cordwood.core.errors import (
    InvalidConfigError,
    InvalidTopicError,
    KafkaError,
    PolicyViolationError,
)
from cordwood.testing.seeded_random import SeededRandom
from tests.unit.broker.image_samples import cluster, topic

ILLEGAL = "'a/b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
DEFAULTS = TopicDefaults(partitions=2, replication_factor=1)


def planned(**said: object) -> list[Replicas]:
    new = NewTopic(name="t", **said)  # type: ignore[arg-type]  # each test passes valid fields
    return plan_replicas(new, cluster(brokers=3), defaults=DEFAULTS, random=SeededRandom(1))


def more(total: int, assignments: Sequence[Replicas] | None = None) -> list[Replicas]:
    present = topic("t", 2, replicas=(2, 1))
    return plan_more_partitions(
        present,
        total,
        assignments=assignments,
        image=cluster(present, brokers=3),
        random=SeededRandom(1),
    )


@pytest.mark.parametrize("name", ("a", "A.b_c-9", "x" * 249, "...", "__x"))
def test_name_may_be(name: str) -> None:
    check_name(name)


@pytest.mark.parametrize(
    ("name", "problem"),
    (
        ("", "the empty string is not allowed"),
        (".", "'.' is not allowed"),
        ("..", "'..' is not allowed"),
        ("x" * 250, f"the length of '{'x' * 250}' is longer than the max allowed length 249"),
        (
            "a/b",
            ILLEGAL,
        ),
    ),
)
def test_invalid_name_is_rejected(name: str, problem: str) -> None:
    with pytest.raises(InvalidTopicError, match=f"^Topic name is invalid: {re.escape(problem)}$"):
        check_name(name)


def test_missing_topic_is_unknown_or_has_an_invalid_name() -> None:
    assert missing_topic("orders").code == 3
    assert missing_topic("or/ders").code == 17


@pytest.mark.parametrize(
    ("name", "code", "words"),
    (
        ("a.b", 36, "Topic 'a.b' already exists."),
        ("a_b", 17, "Topic 'a_b' collides with existing topic: a.b"),
        ("plain", 36, "Topic 'plain' already exists."),
        ("", 17, "Topic name is invalid: the empty string is not allowed"),
    ),
)
def test_existing_or_colliding_name_is_rejected(name: str, code: int, words: str) -> None:
    taken = ExistingTopicNames(["a.b", "plain"])

    with pytest.raises(KafkaError) as caught:
        taken.check(name)

    assert (caught.value.code, str(caught.value)) == (code, words)


def test_missing_counts_are_the_defaults() -> None:
    assert [len(replicas) for replicas in planned()] == [1, 1]


def test_given_counts_are_used() -> None:
    assert [len(replicas) for replicas in planned(partitions=3, replication_factor=2)] == [2, 2, 2]


def test_assignment_by_hand_is_followed() -> None:
    assert planned(assignments=[(1, (2, 3)), (0, (1, 2))]) == [(1, 2), (2, 3)]


@pytest.mark.parametrize(
    ("said", "code", "words"),
    (
        ({"partitions": 0}, 37, "Number of partitions was set to an invalid non-positive value."),
        ({"partitions": -2}, 37, "Number of partitions was set to an invalid non-positive value."),
        (
            {"replication_factor": 0},
            38,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        ),
        (
            {"replication_factor": 4},
            38,
            (
                "Unable to replicate the partition 4 time(s): The target replication factor of 4"
                " cannot be reached because only 3 broker(s) are registered."
            ),
        ),
        (
            {"assignments": [(0, (1,))], "partitions": 1},
            42,
            "A manual partition assignment was specified, but numPartitions was not set to -1.",
        ),
        (
            {"assignments": [(0, (1,))], "replication_factor": 1},
            42,
            (
                "A manual partition assignment was specified, but replication factor was not set to"
                " -1."
            ),
        ),
        (
            {"assignments": [(0, (1,)), (0, (1,))]},
            39,
            "Found multiple manual partition assignments for partition 0",
        ),
        (
            {"assignments": [(0, (1,)), (2, (1,))]},
            39,
            "partitions should be a consecutive 0-based integer sequence",
        ),
        (
            {"assignments": [(0, ())]},
            39,
            "The manual partition assignment includes an empty replica list.",
        ),
        (
            {"assignments": [(0, (1, 9))]},
            39,
            "The manual partition assignment includes broker 9, but no such broker is registered.",
        ),
        (
            {"assignments": [(0, (1, 1))]},
            39,
            "The manual partition assignment includes the broker 1 more than once.",
        ),
        (
            {"assignments": [(0, (1, 2)), (1, (1,))]},
            39,
            (
                "The manual partition assignment includes a partition with 1 replica(s), but this"
                " is not consistent with previous partitions, which have 2 replica(s)."
            ),
        ),
    ),
)
def test_invalid_topic_is_rejected(said: dict[str, object], code: int, words: str) -> None:
    with pytest.raises(KafkaError) as caught:
        planned(**said)

    assert (caught.value.code, str(caught.value)) == (code, words)


def test_request_creates_at_most_the_allowed_partitions() -> None:
    as_many = [NewTopic(name="a", partitions=MAX_NEW_PARTITIONS - 3), NewTopic(name="b")]
    by_hand = NewTopic(name="c", assignments=[(0, (1,))])

    check_partition_count([*as_many, by_hand], DEFAULTS)

    with pytest.raises(PolicyViolationError, match="Excessively large number of partitions"):
        check_partition_count([*as_many, by_hand, by_hand], DEFAULTS)


def test_settings_have_values() -> None:
    check_configs(NewTopic(name="t", configs=[("a", "")]))

    with pytest.raises(InvalidConfigError, match=r"for topic configs: b$"):
        check_configs(NewTopic(name="t", configs=[("a", ""), ("b", None)]))


def test_added_partitions_continue_after_the_first_ones() -> None:
    assert more(4) == [(1, 3), (2, 3)]


def test_more_partitions_are_where_they_are_assigned() -> None:
    assert more(4, [(1, 2), (3, 1)]) == [(1, 2), (3, 1)]


@pytest.mark.parametrize(
    ("total", "assignments", "code", "words"),
    (
        (2, None, 37, "Topic already has 2 partition(s)."),
        (1, None, 37, "The topic t currently has 2 partition(s); 1 would not be an increase."),
        (MAX_NEW_PARTITIONS + 3, None, 44, "Excessively large number of partitions per request."),
        (
            4,
            [(1, 2)],
            39,
            "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified.",
        ),
        (
            3,
            [(1,)],
            39,
            (
                "The manual partition assignment includes a partition with 1 replica(s), but this"
                " is not consistent with previous partitions, which have 2 replica(s)."
            ),
        ),
    ),
)
def test_invalid_growth_is_rejected(
    total: int, assignments: list[Replicas] | None, code: int, words: str
) -> None:
    with pytest.raises(KafkaError) as caught:
        more(total, assignments)

    assert (caught.value.code, str(caught.value)) == (code, words)
