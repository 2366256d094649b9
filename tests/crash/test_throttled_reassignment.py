"""A reassignment of whole nodes that holds its rate, in virtual time."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from cordwood.core.binary import INT64_MAX
from tests.simulation.cluster.throttled_move import ThrottledMove

pytestmark = pytest.mark.crash

LIMIT = 400_000
#: One response of `replica.fetch.max.bytes` is sent before its bytes count.
RESPONSE = 1 << 20
SIZE = 4_000_000


@contextmanager
def moved(limit: int | None) -> Iterator[ThrottledMove]:
    move = ThrottledMove()
    try:
        move.run(limit)
        yield move
    finally:
        move.close()


def test_throttled_move_holds_its_rate_and_delays_no_replica_in_sync() -> None:
    with moved(LIMIT) as move:
        excess = [
            count - LIMIT * passed_ms / 1_000 - RESPONSE for passed_ms, count in move.copied.items()
        ]
        assert max(excess) <= 0
        assert move.ended_ms - move.began_ms >= 1_000 * (SIZE - RESPONSE) / LIMIT
        assert len(move.acknowledged_ms) > 20
        assert max(move.acknowledged_ms) < 500
        assert move.size(3) > SIZE
        assert {*move.limits().values()} == {(INT64_MAX, INT64_MAX)}


def test_move_without_a_throttle_is_faster_than_that_limit() -> None:
    with moved(None) as move:
        assert move.ended_ms - move.began_ms < 1_000 * (SIZE - RESPONSE) / LIMIT / 4
        assert move.size(3) > SIZE
