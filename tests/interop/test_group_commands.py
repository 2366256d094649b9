"""`cordwood groups` and `cordwood consume --group` print the same with Kafka 4.3 and our broker."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

import cordwood
from tests.interop.kafka_harness.brokers import Broker, kraft_broker
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.oracle import Oracle
from tests.interop.kafka_harness.our_broker import cordwood_broker
from tests.interop.kafka_harness.patience import PATIENCE_S
from tests.unit.cli.commands import CommandResult, run

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

Call = Callable[..., CommandResult]

TITLES: Final = "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG LAG-SECONDS"
RECORDS: Final = b"".join(b'{"value":"%d","timestamp":%d}\n' % (n, n) for n in range(4))
RESET: Final = ("groups", "reset-offsets", "--group")


@pytest.fixture(scope="module", params=("kafka", "cordwood"))
def bootstrap(
    request: pytest.FixtureRequest,
    kafka43_jars: Jars,
    kafka43: Oracle,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    """Where a broker is reached, Kafka's or ours."""
    folder = tmp_path_factory.mktemp(f"group-commands-{request.param}")
    if request.param == "kafka":
        broker = kraft_broker(kafka43_jars, folder, kafka43)
    else:
        broker = cordwood_broker(folder, kafka43)
    try:
        broker.start()
        yield broker.bootstrap
    finally:
        broker.stop()


@pytest.fixture
def call(
    bootstrap: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Call:
    def made(*words: str, stdin: bytes = b"") -> CommandResult:
        arguments = (*words, "--bootstrap-server", bootstrap)
        return run(arguments, monkeypatch, capfd, stdin=stdin)

    return made


def fill(call: Call, topic: str) -> None:
    """Create a topic of one partition with four records."""
    past = "--config=message.timestamp.type=CreateTime"
    made = call("topics", "create", "--topic", topic, "--partitions=1", past)
    assert made.code == 0, made.err
    assert call("produce", topic, "--json", stdin=RECORDS).code == 0


def test_group_consumes_on_and_is_described(call: Call) -> None:
    fill(call, "read")
    how = ("consume", "read", "--group=reader", "--from-beginning")

    assert call(*how, "--max-messages=3") == (0, "0\n1\n2\n", "read: 3 records read\n")
    described = call("groups", "describe", "--group=reader")
    titles, row = described.out.splitlines()

    assert titles.split() == [*TITLES.split(), "CONSUMER-ID", "HOST", "CLIENT-ID"]
    assert row.split()[:6] == ["reader", "read", "0", "3", "4", "1"]
    assert float(row.split()[6]) > 1_000_000_000
    assert row.split()[7:] == ["-", "-", "-"]
    assert described.err == "group 'reader': has no active members\n"
    assert call(*how, "--max-messages=1").out == "3\n"
    assert call("groups", "describe", "--group=reader").out.splitlines()[1].split()[5:7] == [
        "0",
        "0.0",
    ]


def test_group_is_listed_with_type_and_state(call: Call) -> None:
    fill(call, "listed")
    call(*RESET, "listed", "--topic=listed", "--to-latest", "--execute")

    found = call("groups", "list", "--state", "empty", "--type", "--json").out.splitlines()

    assert "listed" in call("groups", "list").out.splitlines()
    assert {"group": "listed", "type": "Classic", "state": "Empty"} in map(json.loads, found)
    assert call("groups", "list", "--state=stable").out == ""


@pytest.mark.parametrize("protocol", ("classic", "consumer"))
def test_members_and_states_are_described(call: Call, bootstrap: str, protocol: str) -> None:
    group = topic = f"live-{protocol}"
    fill(call, topic)
    words = ("groups", "describe", "--group", group, "--json")
    with cordwood.Consumer(bootstrap, group=group, group_protocol=protocol) as consumer:
        consumer.subscribe([topic])
        while not consumer.assignment():
            consumer.poll(100)
        member = json.loads(call(*words, "--members", "--verbose").out)
        state = json.loads(call(*words, "--state").out)
        reset = call(*RESET, group, "--topic", topic, "--to-latest", "--execute")
        deleted = call("groups", "delete", "--group", group)

    assert (member["partitions"], member["current_assignment"]) == (1, f"{topic}:0")
    assert (member["client_id"], member["host"]) == ("cordwood", "/127.0.0.1")
    assert (state["state"], state["members"], state["coordinator"]) == (
        "Stable",
        1,
        f"{bootstrap} (1)",
    )
    assert (reset.code, reset.out) == (1, "")
    assert "while it has members (state Stable)" in reset.err
    assert deleted.code == 1


@pytest.mark.parametrize(
    ("words", "offset"),
    (
        (("--to-earliest",), 0),
        (("--to-latest",), 4),
        (("--to-current",), 2),
        (("--to-offset=9",), 4),
        (("--shift-by=-1",), 1),
        (("--to-datetime=1970-01-01T00:00:00.003",), 3),
        (("--by-duration=PT1H",), 4),
    ),
    ids=str,
)
def test_offsets_are_reset(call: Call, words: tuple[str, ...], offset: int) -> None:
    group = topic = f"reset{words[0].partition('=')[0]}"
    fill(call, topic)
    scope = (*RESET, group, "--topic", topic)
    call(*scope, "--to-offset=2", "--execute")

    planned = call(*scope, *words)
    done = call(*scope, *words, "--execute")
    exported = call(*scope, "--to-current", "--export")

    assert planned.out == done.out
    assert done.out.splitlines()[1].split() == [group, topic, "0", str(offset)]
    assert exported.out == f"{topic},0,{offset}\n"


def test_exported_offsets_are_restored(call: Call, tmp_path: Path) -> None:
    fill(call, "saved")
    call(*RESET, "saved", "--topic=saved", "--to-offset=2", "--execute")
    file = tmp_path / "plan.csv"

    file.write_text(call(*RESET, "saved", "--all-topics", "--to-current", "--export").out)
    call(*RESET, "saved", "--all-topics", "--to-latest", "--execute")
    call(*RESET, "saved", "--from-file", str(file), "--execute")

    assert call(*RESET, "saved", "--all-topics", "--to-current", "--export").out == "saved,0,2\n"


def test_offsets_and_groups_are_deleted(call: Call) -> None:
    fill(call, "gone")
    call(*RESET, "gone", "--topic=gone", "--to-latest", "--execute")

    assert call("groups", "delete-offsets", "--group=gone", "--topic=gone:0").out.split()[3:] == [
        "gone",
        "0",
        "Successful",
    ]
    assert call("groups", "describe", "--group=gone").out == ""
    assert call("groups", "delete", "--group=gone") == (0, "gone: deleted\n", "")
    again = call("groups", "delete", "--group=gone")
    assert (again.code, "check the name of the group" in again.err) == (1, True)


def make_odd(bootstrap: str) -> None:
    """Create a partition with a log from 1 to 4 and committed offset 2, and an empty one."""
    with cordwood.Admin(bootstrap) as admin, cordwood.Producer(bootstrap) as producer:
        if "odd" in admin.list_topics():
            return
        admin.create_topic("odd", partitions=2)
        for number in range(4):
            producer.send("odd", b"x", partition=0, timestamp_ms=number).result()
        admin.delete_records({("odd", 0): 1})
        admin.alter_group_offsets("odd", {("odd", 0): 2})


@pytest.mark.parametrize(
    "words",
    (
        ("--topic=odd", "--to-offset=0"),
        ("--topic=odd", "--to-offset=99"),
        ("--topic=odd", "--to-current"),
        ("--topic=odd:0", "--shift-by=-9"),
        ("--topic=odd:0", "--shift-by=9"),
        ("--topic=odd", "--to-datetime=1970-01-01T00:00:00.003"),
        ("--from-file=FILE",),
        ("--all-topics", "--to-earliest"),
    ),
    ids=str,
)
def test_reset_decides_as_the_tool_of_kafka(
    our_broker: Broker,
    kafka43_jars: Jars,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    words: tuple[str, ...],
) -> None:
    file = tmp_path / "plan.csv"
    file.write_text("odd,0,99\nodd,1,7\n")
    make_odd(our_broker.bootstrap)
    given = [word.replace("FILE", str(file)) for word in words]
    reach = ("--bootstrap-server", our_broker.bootstrap)

    ours = run((*RESET, "odd", *given, "--export", "--dry-run", *reach), monkeypatch, capfd).out
    theirs = subprocess.run(
        kafka43_jars.command(
            "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
            *("--reset-offsets", "--group", "odd", *given, "--export", "--dry-run", *reach),
        ),
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    ).stdout

    lines = [line for line in theirs.splitlines() if line.startswith("odd,")]  # others warn
    assert ours.splitlines() == sorted(lines)
    assert ours
