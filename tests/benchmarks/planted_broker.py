"""The broker that the bomber starts, with one planted mistake:
`python -m tests.benchmarks.planted_broker MISTAKE serve ...`

loop_without_yield          a handler processes all elements of a request in one turn of the loop
session_without_budget      a fetch session keeps any number of partitions, also missing ones
"""

import runpy
import sys
from collections.abc import Callable
from typing import Final

from cordwood.broker.loop_turns import LoopTurns
from cordwood.broker.partitions import fetch_sessions


def loop_without_yield() -> None:
    change(LoopTurns, is_over=property(lambda _: False))


def session_without_budget() -> None:
    vars(fetch_sessions)["_MISSING"] = frozenset()
    change(fetch_sessions.FetchSessionCache, _is_full_with=lambda *_: False)


def change(kind: type, **changed: object) -> None:
    """Replace attributes of a class; each must exist."""
    for name, value in changed.items():
        assert hasattr(kind, name), name
        setattr(kind, name, value)


MISTAKES: Final[dict[str, Callable[[], None]]] = {
    each.__name__: each for each in (loop_without_yield, session_without_budget)
}

if __name__ == "__main__":
    MISTAKES[sys.argv.pop(1)]()
    runpy.run_module("benchmarks.stalls.slow_broker", run_name="__main__", alter_sys=True)
