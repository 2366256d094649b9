"""`bootstrap.checkpoint` has the topics and configs of the cluster."""

from collections.abc import Mapping

from cordwood.core.metadata_paths import ALL_BROKERS, BROKER, GROUP, TOPIC
from cordwood.core.uuids import Uuid
from cordwood.records.batch_stream import batches
from cordwood.records.record_batch import RecordBatch
from cordwood.storage.metadata.bootstrap_checkpoint import (
    BATCH_RECORDS,
    BootstrapTopic,
    bootstrap_checkpoint,
)
from cordwood.storage.metadata.cluster_metadata_log import ClusterMetadata

T = Uuid(bytes(range(16)))
D = Uuid(b"d" * 16)


def written(*topics: BootstrapTopic, **of_all_brokers: str) -> list[RecordBatch]:
    configs = dict[tuple[int, str], Mapping[str, str]]()
    configs[BROKER, ALL_BROKERS] = configs[GROUP, "g"] = of_all_brokers
    data = bootstrap_checkpoint(topics, configs, node_id=1, directory_id=D, now_ms=5)
    return [batch for batch in batches(data) if isinstance(batch, RecordBatch)]


def test_checkpoint_has_records_between_a_header_and_a_footer() -> None:
    found = written()

    assert [batch.is_control for batch in found] == [True, False, True]
    assert [batch.base_offset for batch in found] == [0, 1, 4]
    values = [record.value for record in found[1].records()]
    assert values[0] == b"\x01\x0c\x00\x11metadata.version\x00\x19\x00"


def test_topics_partitions_and_configs_are_written() -> None:
    topic = BootstrapTopic("t", T, (3, 0), {"retention.ms": "5"})

    values = [record.value for record in written(topic, priority="6")[1].records()][3:]

    metadata = ClusterMetadata()
    metadata.apply_all(values)
    assert metadata.topics == {"t": T}
    assert metadata.config_of(TOPIC, "t") == {"retention.ms": "5"}
    assert metadata.config_of(BROKER, ALL_BROKERS) == {"priority": "6"}
    assert metadata.config_of(GROUP, "g") == {"priority": "6"}
    one = b"\x02\x00\x00\x00\x01"
    said = b"\x01\x03\x01" + bytes(4) + T + one + one + b"\x01\x01" + b"\xff" * 4
    assert values[1] == said + bytes((0, 0, 0, 3)) + bytes(4) + b"\x02" + D + b"\x00"


def test_next_producer_id_is_written() -> None:
    data = bootstrap_checkpoint((), {}, node_id=1, directory_id=D, now_ms=5, next_producer_id=4000)
    records = [batch for batch in batches(data) if isinstance(batch, RecordBatch)][1]

    (*_, value) = (record.value for record in records.records())

    assert value == b"\x01\x0f\x00" + bytes((0, 0, 0, 1)) + b"\xff" * 8 + (4000).to_bytes(8) + b"\0"


def test_many_records_are_several_batches() -> None:
    found = written(BootstrapTopic("t", T, (0,) * BATCH_RECORDS, {}))

    assert [batch.count for batch in found] == [1, BATCH_RECORDS, 4, 1]
    assert [batch.base_offset for batch in found] == [0, 1, 1001, 1005]
