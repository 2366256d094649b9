"""Every cluster command has the same result with Kafka 4.3 and with our broker."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

import cordwood
from cordwood.client.consumer.offset_fetcher import LATEST
from tests.interop.kafka_harness.brokers import kraft_broker
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.metadata_lag import await_metadata
from tests.interop.kafka_harness.oracle import Oracle
from tests.interop.kafka_harness.our_broker import cordwood_broker
from tests.unit.cli.commands import CommandResult, run

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

LINES: Final = b'{"key":"ada","value":"42 logs","timestamp":1000,"headers":[["from","web"]]}\n'
ALTER: Final = ("configs", "alter", "--entity-name=1")
CHANGES: Final = frozenset({"create", "alter", "delete"})
PAST: Final = ("--config", "message.timestamp.type=CreateTime")


@dataclass(frozen=True)
class Cluster:
    """Where commands are given, and how they end."""

    bootstrap: str
    call: Callable[[tuple[str, ...], bytes], CommandResult]

    def give(self, *arguments: str, stdin: bytes = b"") -> CommandResult:
        return self.call((*arguments, "--bootstrap-server", self.bootstrap), stdin)

    def do(self, *arguments: str, stdin: bytes = b"") -> str:
        """Run a successful command, and return its output."""
        said = self.give(*arguments, stdin=stdin)
        assert said.code == 0, said.err
        if not CHANGES.isdisjoint(arguments):
            await_metadata(self.bootstrap)
        return said.out

    def make(self, topic: str, *arguments: str) -> None:
        self.do("topics", "create", "--topic", topic, *arguments)

    def await_leaders(self, topic: str, *, partitions: int) -> None:
        """Wait until the broker leads all partitions.

        Metadata of Kafka list a new topic before it leads each partition: it drops records
        with acks 0 meanwhile.
        """
        with cordwood.Admin(self.bootstrap) as admin:
            admin.list_offsets({(topic, at): LATEST for at in range(partitions)})


@pytest.fixture(scope="module", params=("kafka", "cordwood"))
def bootstrap(
    request: pytest.FixtureRequest,
    kafka43_jars: Jars,
    kafka43: Oracle,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    """Where a broker is reached, Kafka's or ours."""
    folder = tmp_path_factory.mktemp(f"commands-{request.param}")
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
def cluster(
    bootstrap: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Cluster:
    return Cluster(bootstrap, lambda words, stdin: run(words, monkeypatch, capfd, stdin=stdin))


def test_topic_is_created_shown_grown_and_deleted(cluster: Cluster) -> None:
    cluster.make("life", "--partitions=2", "--replication-factor=1", "--config=retention.ms=9")
    assert "life" in cluster.do("topics", "list").splitlines()

    cluster.do("topics", "alter", "--topic=life", "--partitions=3")
    shown = cluster.do("topics", "describe", "--topic=life").splitlines()
    assert "\tPartitionCount: 3\tReplicationFactor: 1\tConfigs: " in shown[0]
    assert "retention.ms=9" in shown[0]
    assert shown[1] == "\tTopic: life\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1"

    assert cluster.do("topics", "delete", "--topic=life") == "life: deleted\n"
    assert "life" not in cluster.do("topics", "list").splitlines()


@pytest.mark.parametrize(
    "how",
    (
        ("--replica-assignment=1,1",),
        ("--placement=textbook", "--partitions=2", "--replication-factor=1"),
    ),
    ids=("assigned", "textbook"),
)
def test_topic_is_created_with_the_given_assignment(cluster: Cluster, how: tuple[str, ...]) -> None:
    name = f"placed-{len(how)}"
    cluster.make(name, *how)

    (topic,) = json.loads(cluster.do("topics", "describe", "--topic", name, "--json"))["topics"]

    assert [each["replicas"] for each in topic["partitions"]] == [[1], [1]]


def test_validated_topic_is_not_created(cluster: Cluster) -> None:
    said = cluster.do("topics", "create", "--topic=dry", "--partitions=1", "--validate-only")

    assert said.startswith("dry: can be created")
    assert "dry" not in cluster.do("topics", "list").splitlines()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    (
        (("topics", "create", "--topic=a/b"), 1, "a/b"),
        (("topics", "create", "--topic=x", "--replication-factor=3"), 1, "x"),
        (("topics", "describe", "--topic=nowhere"), 1, "'nowhere'"),
        (("topics", "delete", "--topic=nowhere"), 1, "'nowhere'"),
        (("consume", "nowhere"), 1, "'nowhere'"),
        (("consume", "nowhere", "--group=g"), 1, "'nowhere'"),
        ((*ALTER, "--entity-type=brokers", "--add-config=log.retention.ms=x"), 1, "retention.ms"),
    ),
    ids=str,
)
def test_error_names_its_subject(
    cluster: Cluster, arguments: tuple[str, ...], code: int, words: str
) -> None:
    said = cluster.give(*arguments)

    assert said.code == code
    assert words in said.err
    assert said.out == ""


def test_records_before_an_offset_are_deleted(cluster: Cluster, tmp_path: Path) -> None:
    cluster.make("trimmed", "--partitions=1")
    cluster.do("produce", "trimmed", stdin=b"a\nb\nc\n")
    file = tmp_path / "offsets.json"
    wanted = {"partitions": [{"topic": "trimmed", "partition": 0, "offset": 2}], "version": 1}
    file.write_text(json.dumps(wanted))

    said = cluster.do("topics", "delete-records", "--offset-json-file", str(file))

    assert said == "trimmed-0: starts at 2\n"
    assert cluster.do("consume", "trimmed", "--from-beginning", "--max-messages=1") == "c\n"


@pytest.mark.parametrize(
    ("entity", "setting"),
    (
        (("--entity-type=topics", "--entity-name=set"), "segment.ms"),
        (("--entity-type=brokers", "--entity-name=1"), "log.cleaner.threads"),
        (("--entity-type=brokers", "--entity-default"), "log.cleaner.backoff.ms"),
    ),
    ids=("topic", "broker", "default"),
)
def test_setting_is_changed_and_reset(
    cluster: Cluster, entity: tuple[str, ...], setting: str
) -> None:
    cluster.do("topics", "create", "--topic=set", "--if-not-exists")

    cluster.do("configs", "alter", *entity, f"--add-config={setting}=2")
    assert f"  {setting} = 2 (" in cluster.do("configs", "describe", *entity)
    cluster.do("configs", "alter", *entity, f"--delete-config={setting}")
    assert f"  {setting} = 2 (" not in cluster.do("configs", "describe", *entity)


def test_list_value_is_accepted_in_brackets(cluster: Cluster) -> None:
    entity = ("--entity-type=topics", "--entity-name=listed")
    cluster.make("listed")

    cluster.do("configs", "alter", *entity, "--add-config=cleanup.policy=[compact,delete]")

    words = "  cleanup.policy = compact,delete (topic)"
    assert words in cluster.do("configs", "describe", *entity)


def test_loggers_are_shown_and_changed(cluster: Cluster) -> None:
    entity = ("--entity-type=broker-loggers", "--entity-name=1")
    (told,) = json.loads(cluster.do("configs", "describe", *entity, "--json"))["resources"]
    name = next(each["name"] for each in told["entries"] if each["name"] != "root")

    cluster.do("configs", "alter", *entity, f"--add-config={name}=ERROR")

    assert f"  {name} = ERROR (logger)" in cluster.do("configs", "describe", *entity)


@pytest.mark.parametrize("codec", ("none", "gzip", "snappy", "lz4", "zstd"))
def test_records_round_trip(cluster: Cluster, codec: str) -> None:
    cluster.make(f"round-{codec}", "--partitions=1", *PAST)

    cluster.do("produce", f"round-{codec}", "--json", "--compression-codec", codec, stdin=LINES)
    how = ("--from-beginning", "--max-messages=1", "--isolation-level=read_committed", "--json")
    told = json.loads(cluster.do("consume", f"round-{codec}", *how))

    sent = json.loads(LINES)
    assert {name: told[name] for name in sent} == sent
    assert told["offset"] == 0


@pytest.mark.parametrize("acks", ("0", "1", "all"))
def test_keys_and_values_round_trip_under_each_acks_setting(cluster: Cluster, acks: str) -> None:
    cluster.make(f"acks-{acks}", "--partitions=3")

    cluster.await_leaders(f"acks-{acks}", partitions=3)

    pairs = ("--key-separator=:", "--null-marker=NULL")
    cluster.do("produce", f"acks-{acks}", *pairs, "--acks", acks, stdin=b"a:1\nb:NULL\nNULL:3\n")
    said = cluster.do("consume", f"acks-{acks}", *pairs, "--from-beginning", "--max-messages=3")

    assert sorted(said.splitlines()) == ["NULL:3", "a:1", "b:NULL"]


@pytest.mark.parametrize(
    ("where", "value"),
    (("--offset=1", "two"), ("--timestamp=2000", "two"), ("--offset=earliest", "one")),
)
def test_reading_starts_at_the_given_position(cluster: Cluster, where: str, value: str) -> None:
    cluster.do("topics", "create", "--topic=times", "--partitions=1", "--if-not-exists", *PAST)
    lines = b'{"value":"one","timestamp":1000}\n{"value":"two","timestamp":2000}\n'
    cluster.do("produce", "times", "--json", stdin=lines)

    said = cluster.do("consume", "times", "--partition=0", where, "--max-messages=1")

    assert said == f"{value}\n"


@pytest.mark.parametrize("columns", ((), ("--columns",)))
def test_bench_measures(cluster: Cluster, columns: tuple[str, ...]) -> None:
    cluster.do("topics", "create", "--topic=bench", "--partitions=1", "--if-not-exists")
    load = ("--topic=bench", "--num-records=500", "--json")

    produced = json.loads(cluster.do("bench", "produce", *load))
    consumed = json.loads(cluster.do("bench", "consume", *load, *columns))
    waited = json.loads(
        cluster.do("bench", "latency", "--topic=bench", "--num-records=5", "--json")
    )

    assert (produced["records"], produced["bytes"]) == (500, 50_000)
    assert consumed["records"] >= 500
    assert set(waited["latency_ms"]) == {"average", "50%", "95%", "99%", "99.9%", "longest"}
    assert produced["records_per_second"] > 0
