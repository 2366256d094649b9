"""Data is printed for as long as somebody reads it."""

import io
import os
import sys

import pytest

from cordwood.cli.output import is_terminal, open_streams, say, tell, write


class Refusing(io.BytesIO):
    """What data cannot be written to."""

    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error = error

    def write(self, _: object) -> int:
        raise self.error


class Printed(io.TextIOWrapper):
    """A standard output that has a descriptor of its own."""

    def __init__(self, buffer: io.BytesIO, descriptor: int) -> None:
        super().__init__(buffer)
        self.descriptor = descriptor

    def fileno(self) -> int:
        return self.descriptor


def test_text_is_a_line_and_bytes_of_names_are_as_they_were(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    say("grün \udcff")

    assert capfdbinary.readouterr().out == b"gr\xc3\xbcn \xff\n"


def test_reader_that_has_enough_gets_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = os.pipe()
    os.close(source)
    monkeypatch.setattr(sys, "stdout", Printed(Refusing(BrokenPipeError()), target))

    assert not write(b"data")

    assert os.write(target, b"goes nowhere") == len("goes nowhere")
    os.close(target)


def test_error_of_the_output_says_that_it_is_the_output_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Printed(Refusing(OSError(28, "No space")), 1))

    with pytest.raises(OSError, match="No space") as refused:
        write(b"data")

    assert refused.value.filename == "the standard output"


def test_nobody_looks_at_a_stream_that_is_no_terminal_or_not_there() -> None:
    assert not is_terminal(None)
    assert not is_terminal(io.StringIO())


def test_missing_streams_lead_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)

    open_streams()

    assert write(b"data")
    assert sys.stderr.write("words") == len("words")
    sys.stdout.close()
    sys.stderr.close()


def test_words_are_none_of_the_data(capfd: pytest.CaptureFixture[str]) -> None:
    tell("done")

    assert capfd.readouterr() == ("", "done\n")
