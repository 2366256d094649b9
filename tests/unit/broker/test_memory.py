"""Memory for frames is taken in order, given back in full, and never runs out for good."""

from collections.abc import Callable

from cordwood.broker.memory import SMALL_FRAME_BYTES, MemoryBudget

BIG = SMALL_FRAME_BYTES * 4


def unused() -> None:
    raise AssertionError("nobody waits")


def noting(calls: list[str], name: str) -> Callable[[], object]:
    return lambda: calls.append(name)


def test_frame_is_let_in_while_anything_is_left() -> None:
    budget = MemoryBudget(lambda: 1)

    assert budget.take(BIG, unused)
    assert budget.taken == BIG


def test_small_frames_are_not_counted() -> None:
    budget = MemoryBudget(lambda: 0)

    assert budget.take(SMALL_FRAME_BYTES, unused)
    budget.give_back(SMALL_FRAME_BYTES)

    assert budget.taken == 0


def test_those_who_wait_are_let_in_by_their_order() -> None:
    calls: list[str] = []
    budget = MemoryBudget(lambda: BIG)
    budget.take(BIG, unused)

    waits = [budget.take(BIG, noting(calls, name)) for name in ("first", "second")]
    budget.give_back(BIG)

    assert (waits, calls) == ([False, False], ["first"])
    assert (budget.taken, budget.is_short) == (BIG, True)


def test_nobody_overtakes_those_who_wait() -> None:
    calls: list[str] = []
    limit = BIG
    budget = MemoryBudget(lambda: limit)
    budget.take(BIG, unused)
    budget.take(BIG, noting(calls, "first"))

    limit = 10 * BIG
    overtakes = budget.take(BIG, noting(calls, "second"))
    budget.serve()

    assert (overtakes, calls) == (False, ["first", "second"])


def test_who_was_forgotten_is_not_let_in() -> None:
    calls: list[str] = []
    budget = MemoryBudget(lambda: BIG)
    budget.take(BIG, unused)
    go_on = noting(calls, "gone")
    budget.take(BIG, go_on)

    budget.forget(go_on)
    budget.give_back(BIG)

    assert (calls, budget.taken, budget.is_short) == ([], 0, False)
