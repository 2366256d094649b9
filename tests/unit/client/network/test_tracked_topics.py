"""Topics are tracked until they are idle."""

from cordwood.client.network.runtime import ClientRuntime
from cordwood.client.network.tracked_topics import TrackedTopics
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import VirtualClock


def test_topic_is_tracked_until_it_is_idle() -> None:
    clock = VirtualClock()
    topics = TrackedTopics(ClientRuntime(clock, clock, SeededRandom(1)), 1_000)
    topics.use("b")
    topics.use("a")
    clock.advance(ms=1_000)

    assert topics.drop_idle() == ["a", "b"]

    topics.use("a")
    topics.in_use = lambda: ["c"]
    clock.advance(ms=1)

    assert topics.drop_idle() == ["a", "c"]
    assert "b" not in topics


def test_forgotten_topic_is_not_tracked() -> None:
    clock = VirtualClock()
    topics = TrackedTopics(ClientRuntime(clock, clock, SeededRandom(1)), 1_000)
    topics.use("a")
    topics.forget("a")
    topics.forget("b")

    assert "a" not in topics
