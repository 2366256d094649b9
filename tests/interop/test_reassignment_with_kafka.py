"""Kafka's kafka-reassign-partitions: throttles, and moves between log directories of our broker."""

import json
from pathlib import Path

import pytest

import cordwood
from tests.interop.kafka_harness.client_tools import TOOLS, ToolsClient
from tests.interop.kafka_harness.jars import Jars

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

LIMITED = "leader.replication.throttled.replicas"


def test_kafkas_command_moves_a_replica_and_removes_its_throttles(
    kafka43_jars: Jars, tmp_path: Path
) -> None:
    paths = [str(tmp_path / name) for name in ("a", "b")]
    with cordwood.Broker(data=",".join(paths)) as broker:
        with cordwood.Producer(broker.address) as producer:
            for number in range(100):
                producer.send("orders", b"%100d" % number)
            producer.flush()
        with cordwood.Admin(broker.address) as admin:
            before, after = sorted(paths, key=lambda path: path not in places(admin))
            plan = tmp_path / "plan.json"
            move = {"topic": "orders", "partition": 0, "replicas": [1], "log_dirs": [after]}
            plan.write_text(json.dumps({"version": 1, "partitions": [move]}))
            command = [f"{TOOLS}reassign.ReassignPartitionsCommand"]
            command += ["--reassignment-json-file", str(plan)]
            tools = ToolsClient(broker.address, kafka43_jars, tmp_path)

            begun = tools.run(
                *command,
                "--execute",
                "--throttle=1000000",
                "--replica-alter-log-dirs-throttle=50000000",
            )
            limited = admin.describe_configs(("topic", "orders"))[LIMITED]
            while places(admin) != {after}:
                pass
            verified = tools.run(*command, "--verify")

            assert "log directory to" in begun
            assert (limited, before in places(admin)) == ("0:1", False)
            assert "is complete" in verified
            assert "Clearing broker-level throttles on broker 1" in verified
            assert admin.describe_configs(("topic", "orders"))[LIMITED] == ""
        with cordwood.Consumer(broker.address) as consumer:
            consumer.assign([("orders", 0)])
            consumer.seek_to_beginning()
            count = 0
            while count < 100:
                count += len(consumer.poll(5_000))


def places(admin: cordwood.Admin) -> set[str]:
    """Return the directories with a replica of the topic."""
    return {
        directory.path
        for directory in admin.describe_log_dirs(1)
        for each in directory.partitions
        if each.topic == "orders" and not each.is_future
    }
