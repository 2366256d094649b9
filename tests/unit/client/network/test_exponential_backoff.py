"""Backoff: growth, limit and jitter."""

from cordwood.client.network.exponential_backoff import ExponentialBackoff
from cordwood.testing.seeded_random import SeededRandom


def test_pauses_double_until_the_longest() -> None:
    backoff = ExponentialBackoff(100, 1_000, random=SeededRandom(1))

    pauses = [backoff.next_ms() for _ in range(6)]

    assert all(80 * 2**n <= pause <= 120 * 2**n for n, pause in enumerate(pauses[:3]))
    assert max(pauses) <= 1_000
    assert backoff.failures == 6


def test_pauses_restart_after_success() -> None:
    backoff = ExponentialBackoff(100, 1_000, random=SeededRandom(1))
    for _ in range(5):
        backoff.next_ms()

    backoff.reset()

    assert backoff.next_ms() <= 120


def test_pauses_of_two_clients_differ() -> None:
    first = ExponentialBackoff(100, 1_000, random=SeededRandom(1))
    second = ExponentialBackoff(100, 1_000, random=SeededRandom(2))

    assert first.next_ms() != second.next_ms()
