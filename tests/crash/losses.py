"""Losses within a write in progress: pages reach the disk in any order.

    end      the last pages, from anywhere in a page on, as in an interrupted write
    first    the first pages, while later ones arrive
    middle   pages between others that arrive

The lost pages hold their former content, or zeros. A page is small here, as the batches are.
"""

from collections.abc import Iterator
from random import Random
from typing import Final

from cordwood.testing.disk_model import TornWrite

PAGE_SIZE: Final = 32
KINDS: Final = tuple(
    f"{where} {how}" for where in ("end", "first", "middle") for how in ("lost", "zeroed")
)


def draw_losses(
    writes: dict[int, range], chance: Random
) -> Iterator[tuple[str, dict[int, TornWrite]]]:
    """Yield two kinds, and of one of the writes, by its index, what it loses so."""
    for kind in chance.sample(KINDS, 2):
        where, _, how = kind.partition(" ")
        possible = [index for index in writes if _has(where, writes[index])]
        if possible:
            index = chance.choice(possible)
            first, end = _lost(where, writes[index], chance)
            yield kind, {index: TornWrite(first, end, is_zeroed=how == "zeroed")}


def _has(where: str, written: range) -> bool:
    """Return whether a write has enough pages for this kind of loss."""
    return len(_page_ends(written)) >= {"end": 0, "first": 1, "middle": 2}[where]


def _lost(where: str, written: range, chance: Random) -> tuple[int, int | None]:
    """Return the range of a write's bytes that is lost."""
    if where == "end":
        return chance.randrange(len(written)), None
    if where == "first":
        return 0, chance.choice(_page_ends(written))
    first, end = sorted(chance.sample(_page_ends(written), 2))
    return first, end


def _page_ends(written: range) -> list[int]:
    """Return where pages of the file end inside a write, from its beginning."""
    after_first = PAGE_SIZE - written.start % PAGE_SIZE
    return list(range(after_first, len(written), PAGE_SIZE))
