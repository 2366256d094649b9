"""The metadata log of a real Kafka 4.3 broker is read correctly."""

import pytest

from cordwood.core.system import SystemFiles
from cordwood.storage.checkpoints.partition_metadata_file import read_partition_metadata
from cordwood.storage.metadata.metadata_lookup import METADATA_LOG, read_kafka_metadata
from cordwood.workbench.topic_settings_lookup import SettingsFinder
from tests.interop.kafka_harness import samples
from tests.interop.kafka_harness.brokers import Broker, producer_settings

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]


def test_topic_id_and_settings_of_a_topic_are_found(broker43: Broker) -> None:
    said = {"retention.ms": "5000", "cleanup.policy": "compact,delete"}
    broker43.create_topics({"set": said, "unset": {}})
    broker43.oracle.produce(broker43.bootstrap, "set", samples.plain(), producer_settings("none"))
    files = SystemFiles()

    finder = SettingsFinder(files, given={"retention.ms": "7000"})
    found = finder.find(str(broker43.logs), "set")
    metadata = read_kafka_metadata(files, str(broker43.logs))

    asked = [finder.find(str(broker43.logs), topic) for topic in ("set", "unset", "unknown")]
    assert [each.cleanup.is_compacted for each in asked] == [True, False, None]
    assert found.config.retention_ms == 7000
    assert found.config.cleanup_policy == {"compact", "delete"}
    assert found.resolved["cleanup.policy"].source == f"{broker43.logs}/{METADATA_LOG}, topic set"
    assert metadata is not None
    assert metadata.topics["set"] == read_partition_metadata(files, str(broker43.partition("set")))
