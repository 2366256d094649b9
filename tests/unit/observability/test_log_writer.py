"""Tests of the writer of log lines."""

import io
import logging
import os
import threading
from collections.abc import Iterator

import pytest

from cordwood.observability.log_lines import LOGFMT
from cordwood.observability.log_writer import (
    LogWriter,
    stop_writing,
    stream_writer,
    write_events,
)


class Gate:
    """A stream whose reader stalls until `opened`."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.is_blocked = threading.Event()
        self.opened = threading.Event()

    def write(self, data: bytes) -> None:
        self.is_blocked.set()
        assert self.opened.wait(60)
        self.lines += data.decode().splitlines()


def record(text: str) -> logging.LogRecord:
    return logging.LogRecord("cordwood", logging.INFO, "", 0, text, (), None)


def writer_to(gate: Gate, max_queued: int) -> LogWriter:
    writer = LogWriter(gate.write, lambda count: f"{count} lost", max_queued=max_queued)
    writer.start()
    return writer


def test_line_never_waits_for_a_reader_that_stalls() -> None:
    gate = Gate()
    writer = writer_to(gate, 3)
    writer.handle(record("first"))
    assert gate.is_blocked.wait(60)

    for number in range(10):
        writer.handle(record(f"line {number}"))
    lost = writer.lost_lines
    gate.opened.set()
    writer.close()

    assert (lost, writer.lost_lines) == (7, 7)
    assert sorted(gate.lines) == ["7 lost", "first", "line 0", "line 1", "line 2"]


def test_lines_that_cannot_be_written_are_counted() -> None:
    def write(_: bytes) -> None:
        raise BrokenPipeError

    writer = LogWriter(write, str, max_queued=3)
    writer.start()
    writer.handle(record("lost"))
    writer.close()

    assert writer.lost_lines == 1


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def test_non_blocking_descriptor_is_waited_for(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    os.set_blocking(writing, False)
    received = bytearray()
    line = b"x" * 300_000

    def read() -> None:
        while len(received) < len(line):
            received.extend(os.read(reading, 65_536))

    reader = threading.Thread(target=read)
    reader.start()
    with os.fdopen(writing, "w", closefd=False) as stream:
        stream_writer(stream)(line)
    reader.join()

    assert bytes(received) == line


def test_warning_of_another_package_is_written_too() -> None:
    stream = io.StringIO()
    writer = write_events(stream, style=LOGFMT, level="INFO")

    logging.getLogger("asyncio").warning("slow")
    stop_writing(writer)

    assert "logger=asyncio event=slow" in stream.getvalue()


def test_events_are_written_from_their_level_on() -> None:
    stream = io.StringIO()
    handler = write_events(stream, style=LOGFMT, level="WARN")

    logging.getLogger("cordwood.test.writer").info("quiet")
    logging.getLogger("cordwood.test.writer").warning("loud")
    stop_writing(handler)
    logging.getLogger("cordwood.test.writer").debug("after")

    assert [line.split()[1:] for line in stream.getvalue().splitlines()] == [
        ["level=WARN", "logger=cordwood.test.writer", "event=loud"]
    ]
