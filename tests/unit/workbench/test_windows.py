"""Windows show a file piece by piece, and a throttle says when the next piece may come."""

from cordwood.testing.clock import VirtualClock
from cordwood.workbench.windows import Throttle, Window, spend_freely
from tests.unit.workbench.dump_samples import FOLDER, files_of

DATA = bytes(range(100))


def test_window_shows_what_is_asked_for_wherever_it_lies() -> None:
    window = Window(files_of({"f": DATA}).open(f"{FOLDER}/f"), 100, size=16)

    for position, length in ((0, 4), (10, 10), (5, 5), (90, 10), (0, 100), (99, 1)):
        assert bytes(window.view(position, length)) == DATA[position : position + length]


def test_window_ends_where_it_is_told_and_where_the_file_ends() -> None:
    file = files_of({"f": DATA}).open(f"{FOLDER}/f")

    assert bytes(Window(file, 50).view(45, 20)) == DATA[45:50]
    assert bytes(Window(file, 50).view(60, 20)) == b""
    assert bytes(Window(file, 200).view(95, 20)) == DATA[95:]


def test_window_keeps_what_a_view_shows() -> None:
    window = Window(files_of({"f": DATA}).open(f"{FOLDER}/f"), 100, size=16)

    view = window.view(0, 4)
    window.view(50, 4)

    assert bytes(view) == DATA[:4]


def test_window_tells_what_it_has_read() -> None:
    spent: list[int] = []
    window = Window(files_of({"f": DATA}).open(f"{FOLDER}/f"), 100, size=40, spend=spent.append)

    for position in range(0, 100, 10):
        window.view(position, 10)

    assert spent == [40, 40, 20]


def test_throttle_waits_for_what_came_too_early() -> None:
    clock, waits = VirtualClock(), list[float]()
    throttle = Throttle(1000, clock, waits.append)

    throttle(500)
    clock.advance(ms=500)
    throttle(250)
    clock.advance(ms=1000)
    throttle(100)

    assert waits == [0.5, 0.25]


def test_spending_freely_never_waits() -> None:
    spend_freely(1 << 60)
