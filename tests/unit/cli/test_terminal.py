"""Output goes to the standard output as long as its reader reads it."""

import io
import os
import sys

import pytest

from cordwood.cli.terminal import (
    is_terminal,
    open_streams,
    print_message,
    print_output,
    write_output,
)


class FailingStream(io.BytesIO):
    """A stream whose writes fail."""

    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error = error

    def write(self, _: object) -> int:
        raise self.error


class DescriptorStream(io.TextIOWrapper):
    """A standard output with a descriptor of its own."""

    def __init__(self, buffer: io.BytesIO, descriptor: int) -> None:
        super().__init__(buffer)
        self.descriptor = descriptor

    def fileno(self) -> int:
        return self.descriptor


def test_text_is_a_line_and_undecodable_bytes_are_kept(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    print_output("grün \udcff")

    assert capfdbinary.readouterr().out == b"gr\xc3\xbcn \xff\n"


def test_closed_pipe_stops_the_output(monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = os.pipe()
    os.close(source)
    monkeypatch.setattr(sys, "stdout", DescriptorStream(FailingStream(BrokenPipeError()), target))

    assert not write_output(b"data")

    assert os.write(target, b"is dropped") == len("is dropped")
    os.close(target)


def test_error_of_the_output_names_the_output(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", DescriptorStream(FailingStream(OSError(28, "No space")), 1))

    with pytest.raises(OSError, match="No space") as raised:
        write_output(b"data")

    assert raised.value.filename == "the standard output"


def test_other_streams_are_not_terminals() -> None:
    assert not is_terminal(None)
    assert not is_terminal(io.StringIO())


def test_missing_streams_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)

    open_streams()

    assert write_output(b"data")
    assert sys.stderr.write("text") == len("text")
    sys.stdout.close()
    sys.stderr.close()


def test_message_is_written_to_the_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    print_message("done")

    assert capfd.readouterr() == ("", "done\n")
