"""Tests of outcomes that wait until the records before them count."""

from cordwood.coordination.outcome import Outcome
from cordwood.coordination.runtime.deferred_outcomes import DeferredOutcomes

FIRST, SECOND, THIRD = Outcome(), Outcome(), Outcome()


def names(released: list[Outcome]) -> list[str]:
    known = {id(FIRST): "first", id(SECOND): "second", id(THIRD): "third"}
    return [known[id(each)] for each in released]


def test_outcome_without_appends_before_it_is_released_at_once() -> None:
    released = list[Outcome]()

    DeferredOutcomes(released.append).add(FIRST)

    assert names(released) == ["first"]


def test_outcomes_are_released_in_the_order_of_their_appends() -> None:
    released = list[Outcome]()
    deferred = DeferredOutcomes(released.append)
    first, second = deferred.begin(FIRST), deferred.begin(SECOND)

    deferred.complete(second)
    before = names(released)
    deferred.complete(first)

    assert (before, names(released)) == ([], ["first", "second"])


def test_outcome_without_records_waits_for_the_append_before_it() -> None:
    released = list[Outcome]()
    deferred = DeferredOutcomes(released.append)
    first = deferred.begin(FIRST)
    deferred.add(SECOND)
    deferred.begin(THIRD)

    deferred.complete(first)

    assert (names(released), len(deferred)) == (["first", "second"], 1)
