"""Tests of the stop signal of a connection."""

from cordwood.broker.network.stop_signal import StopSignal


def test_callbacks_are_called_once_when_the_signal_fires() -> None:
    stopping, told = StopSignal(), list[str]()
    stopping.watch(lambda: told.append("first"))
    stopping.watch(lambda: told.append("second"))

    stopping.fire()
    stopping.fire()

    assert (told, stopping.has_fired) == (["first", "second"], True)


def test_callback_is_called_immediately_after_the_signal_has_fired() -> None:
    stopping, told = StopSignal(), list[str]()
    stopping.fire()

    stopping.watch(lambda: told.append("late"))

    assert told == ["late"]


def test_removed_callback_is_not_called() -> None:
    stopping, told = StopSignal(), list[str]()

    def call() -> None:
        told.append("unwanted")

    stopping.watch(call)
    stopping.unwatch(call)
    stopping.unwatch(call)
    stopping.fire()

    assert told == []
