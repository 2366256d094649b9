"""Windows read a file piece by piece; a throttle limits the rate."""

from cordwood.testing.virtual_clock import VirtualClock
from cordwood.workbench.file_window import FileWindow, Throttle, ignore_bytes
from tests.unit.workbench.dump_samples import FOLDER, files_of

DATA = bytes(range(100))


def test_window_returns_any_range() -> None:
    window = FileWindow(files_of({"f": DATA}).open(f"{FOLDER}/f"), 100, size=16)

    for position, length in ((0, 4), (10, 10), (5, 5), (90, 10), (0, 100), (99, 1)):
        assert bytes(window.view(position, length)) == DATA[position : position + length]


def test_window_ends_at_its_end_and_at_the_end_of_the_file() -> None:
    file = files_of({"f": DATA}).open(f"{FOLDER}/f")

    assert bytes(FileWindow(file, 50).view(45, 20)) == DATA[45:50]
    assert bytes(FileWindow(file, 50).view(60, 20)) == b""
    assert bytes(FileWindow(file, 200).view(95, 20)) == DATA[95:]


def test_older_views_keep_their_bytes() -> None:
    window = FileWindow(files_of({"f": DATA}).open(f"{FOLDER}/f"), 100, size=16)

    view = window.view(0, 4)
    window.view(50, 4)

    assert bytes(view) == DATA[:4]


def test_window_reports_the_bytes_it_reads() -> None:
    spent: list[int] = []
    window = FileWindow(
        files_of({"f": DATA}).open(f"{FOLDER}/f"), 100, size=40, on_bytes=spent.append
    )

    for position in range(0, 100, 10):
        window.view(position, 10)

    assert spent == [40, 40, 20]


def test_throttle_waits_for_units_above_the_rate() -> None:
    clock, waits = VirtualClock(), list[float]()
    throttle = Throttle(1000, clock, waits.append)

    throttle(500)
    clock.advance(ms=500)
    throttle(250)
    clock.advance(ms=1000)
    throttle(100)

    assert waits == [0.5, 0.25]


def test_spending_freely_never_waits() -> None:
    ignore_bytes(1 << 60)


def test_peek_keeps_the_window() -> None:
    window = FileWindow(files_of({"f": DATA}).open(f"{FOLDER}/f"), 100, size=16)
    view = window.view(0, 4)

    assert [window.peek(at, 4) for at in (2, 50, 98)] == [DATA[2:6], DATA[50:54], DATA[98:]]
    assert bytes(view) == DATA[:4]
