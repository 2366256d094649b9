"""Topics of subscriptions against a fake coordinator."""

import pytest

from cordwood.core.errors import InvalidRegularExpressionError
from cordwood.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from cordwood.protocol.messages.join_group import JoinGroupRequest
from tests.unit.client.fake_broker import run
from tests.unit.client.fake_coordinator import coordinator, member, until


def test_pattern_subscribes_the_topics_that_it_matches_and_later_ones() -> None:
    async def scene() -> None:
        kinds = {"ta": 1, "tb": 1, "u": 1}
        async with coordinator(**kinds) as fake, member(fake, metadata_max_age_ms=20) as reader:
            reader.subscribe(pattern="t.")
            while len(reader.assignment()) < 2:
                await reader.poll(5)
            fake.topics["tc"] = 1
            while len(reader.assignment()) < 3:
                await reader.poll(5)
            assert {each.topic for each in reader.assignment()} == {"ta", "tb", "tc"}

    run(scene())


def test_invalid_pattern_is_rejected_at_once_in_a_classic_group() -> None:
    async def scene() -> None:
        async with coordinator(t=1) as fake, member(fake) as reader:
            with pytest.raises(InvalidRegularExpressionError):
                reader.subscribe(pattern="(")

    run(scene())


def test_pattern_of_a_consumer_group_is_sent_to_the_coordinator() -> None:
    async def scene() -> None:
        async with coordinator(t=1) as fake, member(fake, group_protocol="consumer") as reader:
            reader.subscribe(pattern="t.*")
            await reader.poll(50)
            (first, *_) = fake.requests(ConsumerGroupHeartbeatRequest)
            assert (first.subscribed_topic_names, first.subscribed_topic_regex) == ([], "t.*")

    run(scene())


def test_changed_subscription_rejoins_with_the_new_topics() -> None:
    async def scene() -> None:
        async with coordinator(t=1, u=1) as fake, member(fake) as reader:
            reader.subscribe(["t"])
            await reader.poll(50)
            reader.subscribe(["t", "u"])
            while len(reader.assignment()) < 2:
                await reader.poll(5)
            assert len(fake.requests(JoinGroupRequest)) == 2

    run(scene())


def test_topic_that_does_not_exist_yet_is_looked_up_until_it_does() -> None:
    async def scene() -> None:
        async with coordinator() as fake, member(fake, heartbeat_interval_ms=10) as reader:
            reader.subscribe(["t"])
            await reader.poll(20)
            fake.topics["t"] = 1
            while not reader.assignment():
                await reader.poll(50)
            await until(fake, lambda: True)

    run(scene())
