"""The end is announced once to each who asked, and at once to those who ask late."""

from cordwood.broker.stopping import Stopping


def test_calls_are_made_once_when_the_end_begins() -> None:
    stopping, told = Stopping(), list[str]()
    stopping.watch(lambda: told.append("first"))
    stopping.watch(lambda: told.append("second"))

    stopping.begin()
    stopping.begin()

    assert (told, stopping.has_begun) == (["first", "second"], True)


def test_call_is_made_at_once_when_the_end_has_begun() -> None:
    stopping, told = Stopping(), list[str]()
    stopping.begin()

    stopping.watch(lambda: told.append("late"))

    assert told == ["late"]


def test_call_is_not_made_when_it_was_taken_back() -> None:
    stopping, told = Stopping(), list[str]()

    def call() -> None:
        told.append("unwanted")

    stopping.watch(call)
    stopping.unwatch(call)
    stopping.unwatch(call)
    stopping.begin()

    assert told == []
