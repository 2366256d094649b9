"""Records are read from where it was said, and until it was enough."""

import signal

import pytest
import typer

from cordwood.cli import output
from cordwood.cli.consuming import Place, moment_in, place_in, writer
from cordwood.client.lookups import EARLIEST, LATEST
from tests.unit.cli.commands import Command

LINES = b"".join(b'{"value": "%d", "timestamp": %d, "partition": 0}\n' % (n, n) for n in range(5))


@pytest.fixture(autouse=True)
def _topic(command: Command) -> None:
    command("topics", "create", "--topic", "a", "--partitions=2")
    command("produce", "a", "--json", stdin=LINES)


@pytest.mark.parametrize(
    ("where", "values"),
    (
        (("--from-beginning",), "01234"),
        (("--offset=earliest",), "01234"),
        (("--offset=3", "--partition=0"), "34"),
        (("--timestamp=2",), "234"),
        (("--timestamp=1970-01-01T00:00:00.004",), "4"),
        (("--from-beginning", "--partition=1"), ""),
        ((), ""),
    ),
    ids=str,
)
def test_reading_begins_where_it_was_said(
    command: Command, where: tuple[str, ...], values: str
) -> None:
    count = max(len(values), 1)

    said = command("consume", "a", *where, f"--max-messages={count}", "--timeout-ms=300")

    assert said.code == 0
    assert said.out == "".join(f"{each}\n" for each in values)


def test_offset_that_the_log_does_not_have_is_told(command: Command) -> None:
    said = command("consume", "a", "--offset=9", "--partition=0", "--timeout-ms=1000")

    assert said.code == 1
    assert "a-0" in said.err.splitlines()[-1]


def test_partition_that_there_is_not_is_refused(command: Command) -> None:
    said = command("consume", "a", "--partition=2")

    assert said.code == 1
    assert "topic 'a' has no partition 2; it has 2 of them" in said.err


def test_ctrl_c_ends_it_with_all_that_was_read(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = output.write

    def write(data: bytes) -> bool:
        signal.raise_signal(signal.SIGINT)
        return real(data)

    monkeypatch.setattr(output, "write", write)

    said = command("consume", "a", "--from-beginning")

    assert said == (130, "0\n1\n2\n3\n4\n", "a: 5 records read\n")


def test_reader_that_has_enough_ends_it_well(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "write", lambda _data: False)

    assert command("consume", "a", "--from-beginning").code == 0


def test_place_is_a_name_a_number_or_a_time() -> None:
    assert place_in(None, None, from_beginning=False) == Place(LATEST)
    assert place_in(None, None, from_beginning=True) == Place(EARLIEST)
    assert place_in("7", None, from_beginning=False) == Place(7)
    assert place_in(None, "7", from_beginning=False) == Place(timestamp_ms=7)


@pytest.mark.parametrize(
    ("offset", "timestamp", "from_beginning"),
    (("1", "1", False), ("1", None, True), ("-1", None, False), (None, "noon", False)),
)
def test_place_that_makes_no_sense_is_refused(
    offset: str | None,
    timestamp: str | None,
    from_beginning: bool,  # noqa: FBT001  # a parameter of the test
) -> None:
    with pytest.raises(typer.BadParameter):
        place_in(offset, timestamp, from_beginning=from_beginning)


def test_moment_is_in_utc_unless_it_says_otherwise() -> None:
    assert moment_in("1970-01-01T00:00:01") == 1000
    assert moment_in("1970-01-01T01:00:01+01:00") == 1000


def test_json_has_its_own_keys_and_nulls() -> None:
    with pytest.raises(typer.BadParameter):
        writer(":", None, is_json=True)
