"""Figures as they come: printed, and kept in `build/bench.json`, each by its name."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Final

from benchmarks.figure import Figure

RESULTS: Final = Path("build/bench.json")


def keep(figures: Iterable[Figure]) -> None:
    """Print figures while they are measured, then write them among those that were kept before."""
    known = {each["name"]: each for each in _known()}
    found = {}
    for figure in figures:
        print(figure, flush=True)
        found[figure.name] = asdict(figure)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps([*(known | found).values()], indent=2) + "\n")
    print(f"{len(found)} figures in {RESULTS}")


def _known() -> Iterable[dict[str, object]]:
    if not RESULTS.exists():
        return []
    known: list[dict[str, object]] = json.loads(RESULTS.read_text())
    return known
