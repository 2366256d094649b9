"""Runs of many seeds: garbage collection between them, and floors for the counts of a block."""

import gc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Collect garbage between simulations only: a third of the time goes into it otherwise.

    The objects of the run so far are left out of the collections.
    """
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


def run_block(
    seeds: Iterable[int], run: Callable[[int], Counter[str]], *, per_collection: int
) -> Counter[str]:
    """Return the counts of all seeds; garbage is collected after every `per_collection` of them."""
    counts = Counter[str]()
    with without_garbage_collection():
        for done, seed in enumerate(seeds, start=1):
            counts += run(seed)
            if done % per_collection == 0:
                gc.collect()
    return counts


def below_floors(counts: Mapping[str, int], floors: Mapping[str, int]) -> dict[str, int]:
    """Return the counts that are below their floors; a kind that never happened has 0."""
    return {
        kind: counts.get(kind, 0) for kind, floor in floors.items() if counts.get(kind, 0) < floor
    }


def shown(counts: Mapping[str, int]) -> str:
    """Return the counts for a report."""
    return ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items()))
