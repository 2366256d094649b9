"""The seeded random source is repeatable."""

from cordwood.testing.seeded_random import SeededRandom


def test_same_seed_draws_the_same() -> None:
    one, two = SeededRandom(1), SeededRandom(1)

    drawn = [(each.below(1000), each.fraction(), each.token(8)) for each in (one, two)]

    assert drawn[0] == drawn[1]
    assert one.seed == 1
