"""`cordwood offsets` as it is called."""

import json

import pytest

from cordwood.cli.offsets import parse_time
from tests.unit.cli.commands import Command


@pytest.fixture
def filled(command: Command) -> Command:
    """A function that runs commands, with a topic of three records at 10, 30 and 20 ms."""
    command("topics", "create", "a", "--partitions=1")
    lines = b"".join(b'{"value": "", "timestamp": %d}\n' % each for each in (10, 30, 20))
    command("produce", "a", "--json", stdin=lines)
    return command


def test_both_ends_are_printed_by_default(filled: Command) -> None:
    assert filled("offsets").out == (
        "TOPIC  PARTITION  EARLIEST  LATEST\na      0          0         3\n"
    )


@pytest.mark.parametrize(
    ("time", "offset", "timestamp"),
    (
        ("earliest", 0, None),
        ("latest", 3, None),
        ("-1", 3, None),
        ("max-timestamp", 1, 30),
        ("11", 1, 30),
        ("1970-01-01T00:00:00.010", 0, 10),
        ("31", None, None),
    ),
)
def test_offset_of_a_time_is_printed(
    filled: Command, time: str, offset: int | None, timestamp: int | None
) -> None:
    result = filled("offsets", "a:0", "--time", time, "--json")

    expected = {"topic": "a", "partition": 0, "offset": offset, "timestamp": timestamp}
    assert json.loads(result.out) == expected


def test_topics_are_selected_by_expression(filled: Command) -> None:
    filled("topics", "create", "b")

    rows = filled("offsets", "--topic", "[ab]", "--json").out.splitlines()

    assert [json.loads(each)["topic"] for each in rows] == ["a", "b"]


def test_missing_topic_is_rejected(command: Command) -> None:
    assert command("offsets", "a").code == 1
    assert command("offsets").out == "TOPIC  PARTITION  EARLIEST  LATEST\n"


def test_special_times_have_the_numbers_of_kafka() -> None:
    assert [parse_time(each) for each in ("-2", "-3", "5")] == [-2, -3, 5]
