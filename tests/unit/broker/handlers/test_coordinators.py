"""Tests of the FindCoordinator handler."""

import pytest

from cordwood.broker.dispatch import ROUTES
from cordwood.broker.handlers.coordinators import find_coordinator
from cordwood.broker.topics.topic_planning import NewPartitions
from cordwood.broker.topics.topic_validation import NewTopic
from cordwood.coordination.key_partition import partition_for
from cordwood.core.errors import CoordinatorNotAvailableError
from cordwood.protocol.apis import api_of
from cordwood.protocol.messages.find_coordinator import FindCoordinatorRequest
from tests.unit.broker.broker_samples import run
from tests.unit.broker.coordinators.coordinator_samples import (
    GROUP,
    SHARE,
    TRANSACTION,
    coordinating,
    locate,
)


def test_quirk_02_librdkafka_finds_the_api_that_enables_lz4() -> None:
    api = api_of(10)

    assert api.key in ROUTES
    assert api.first == 0


def test_quirk_21_one_key_is_answered_at_the_top_level_up_to_version_3() -> None:
    async def scene() -> tuple[object, ...]:
        async with coordinating() as harness:
            request = FindCoordinatorRequest(key="g")
            answer = await find_coordinator(harness.broker, harness.context(0), request)
            return answer.error_code, answer.node_id, answer.host, answer.port, answer.coordinators

    assert run(scene()) == (0, 1, "h", 9091, [])


def test_quirk_21_several_keys_have_separate_answers_from_version_4() -> None:
    async def scene() -> tuple[int, list[tuple[str, int, int]]]:
        async with coordinating() as harness:
            request = FindCoordinatorRequest(coordinator_keys=["g", "h"])
            answer = await find_coordinator(harness.broker, harness.context(4), request)
            return answer.error_code, [
                (each.key, each.error_code, each.node_id) for each in answer.coordinators
            ]

    assert run(scene()) == (0, [("g", 0, 1), ("h", 0, 1)])


@pytest.mark.parametrize(
    ("kind", "topic"), ((GROUP, "__consumer_offsets"), (TRANSACTION, "__transaction_state"))
)
def test_internal_topic_is_created_with_the_first_key(kind: int, topic: str) -> None:
    async def scene() -> tuple[int, list[str], int]:
        async with coordinating() as harness:
            code = await locate(harness, kind=kind)
            topics = harness.broker.metadata.image.topics
            return code, [*topics], len(topics[topic].partitions)

    assert run(scene()) == (0, ["orders", topic], 3)


def test_settings_that_no_topic_may_have_are_named() -> None:
    """Clients retry for ever, so their logs need the reason."""

    async def scene() -> tuple[int, str | None]:
        async with coordinating(offsets_topic_segment_bytes="16384") as harness:
            request = FindCoordinatorRequest(key="g")
            answer = await find_coordinator(harness.broker, harness.context(3), request)
            return answer.error_code, answer.error_message

    code, message = run(scene())

    assert code == CoordinatorNotAvailableError.code
    assert "__consumer_offsets could not be created" in str(message)
    assert "segment.bytes" in str(message)


def test_number_of_partitions_of_an_existing_topic_wins_over_the_setting() -> None:
    async def scene() -> tuple[int, int]:
        async with coordinating() as harness:
            await harness.broker.topics.create([NewTopic(name="__consumer_offsets", partitions=7)])
            await locate(harness)
            return (
                len(harness.broker.metadata.image.topics["__consumer_offsets"].partitions),
                harness.broker.coordinators.groups.partition_of("my-group"),
            )

    assert run(scene()) == (7, partition_for("my-group", 7))


def test_partitions_that_are_added_to_the_topic_are_coordinated() -> None:
    async def scene() -> list[int]:
        async with coordinating() as harness:
            await locate(harness)
            await harness.broker.topics.grow([NewPartitions("__consumer_offsets", 5)])
            await locate(harness)
            return harness.broker.coordinators.groups.runtime.active_partitions()

    assert sorted(run(scene())) == [0, 1, 2, 3, 4]


def test_partition_without_a_leader_has_no_coordinator() -> None:
    async def scene() -> tuple[int, list[int]]:
        async with coordinating() as harness:
            await locate(harness)
            image = harness.metadata.image
            topic = image.topics["__consumer_offsets"]
            lost = topic.without_leaders([*topic.names()])
            harness.metadata.publish(image.with_topic(lost))
            return await locate(harness), [*harness.broker.coordinators.groups.runtime.partitions()]

    assert run(scene()) == (15, [])


@pytest.mark.parametrize(
    ("kind", "version", "key", "code"),
    (
        (SHARE, 5, "g:AAAAAAAAAAAAAAAAAAAAAQ:0", 42),
        (SHARE, 6, "g", 42),
        (SHARE, 6, "g:AAAAAAAAAAAAAAAAAAAAAQ:0", 15),
        (9, 6, "g", 42),
    ),
)
def test_other_types_of_keys_have_no_coordinator(
    kind: int, version: int, key: str, code: int
) -> None:
    async def scene() -> list[tuple[int, int]]:
        async with coordinating() as harness:
            request = FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
            answer = await find_coordinator(harness.broker, harness.context(version), request)
            return [(each.error_code, each.node_id) for each in answer.coordinators]

    assert run(scene()) == [(code, -1)]
