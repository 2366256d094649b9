"""Conformance tests of the Random port, for the system's and the seeded random source."""

import pytest

from cordwood.core.ports import Random
from cordwood.core.system import SystemRandom
from cordwood.testing.seeded_random import SeededRandom


@pytest.fixture(params=["system", "seeded"])
def chance(request: pytest.FixtureRequest) -> Random:
    return SystemRandom() if request.param == "system" else SeededRandom(7)


def test_below_returns_each_number_in_range_and_no_other(chance: Random) -> None:
    assert {chance.below(3) for _ in range(200)} == {0, 1, 2}


def test_fraction_stays_below_one_and_varies(chance: Random) -> None:
    drawn = [chance.fraction() for _ in range(100)]

    assert all(0 <= number < 1 for number in drawn)
    assert len(set(drawn)) > 90


def test_token_has_its_size_and_varies(chance: Random) -> None:
    assert len(chance.token(16)) == 16
    assert chance.token(16) != chance.token(16)
