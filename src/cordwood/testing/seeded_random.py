"""Seeded random source: the same seed gives the same numbers on every machine."""

import random


class SeededRandom:
    """The Random port with one seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._source = random.Random(seed)  # noqa: S311 - repeatable by design

    def below(self, limit: int) -> int:
        return self._source.randrange(limit)

    def fraction(self) -> float:
        return self._source.random()

    def token(self, size: int) -> bytes:
        return self._source.randbytes(size)
