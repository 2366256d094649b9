"""Tests of notifications and of the cluster id; the contents were written by Kafka 3.9.1."""

import pytest

from cordwood.cluster.zookeeper.znodes.event_znodes import (
    ConfigEntities,
    ConfigEntity,
    decode_cluster_id,
    decode_config_change,
    decode_log_dir_failure,
    encode_cluster_id,
    encode_config_change,
    encode_log_dir_failure,
)
from cordwood.core.errors import DamagedFileError

TOPIC = (ConfigEntity("topics", "t"),)
ALL_BROKERS = (ConfigEntity("brokers", ""),)
CLIENT = (ConfigEntity("users", "a b"), ConfigEntity("clients", ""))


def test_log_dir_failure_is_read_and_written_as_by_kafka() -> None:
    data = b'{"version":1,"broker":4,"event":1}'

    assert decode_log_dir_failure(data, path="/a") == 4
    assert encode_log_dir_failure(4) == data


@pytest.mark.parametrize(
    ("path", "entities"),
    (
        (b"topics/t", TOPIC),
        (b"brokers/<default>", ALL_BROKERS),
        (b"users/a%20b/clients/<default>", CLIENT),
    ),
)
def test_config_change_is_read_and_written_as_by_kafka(
    path: bytes, entities: ConfigEntities
) -> None:
    data = b'{"version":2,"entity_path":"' + path + b'"}'

    assert decode_config_change(data, path="/a") == entities
    assert encode_config_change(entities) == data


def test_config_change_of_version_1_is_read() -> None:
    data = b'{"version":1,"entity_type":"topics","entity_name":"t"}'

    assert decode_config_change(data, path="/a") == TOPIC


def test_cluster_id_is_read_and_written_as_by_kafka() -> None:
    data = b'{"version":"1","id":"AAAAAAAAAAAAAAAAAAAAAQ"}'

    assert decode_cluster_id(data) == "AAAAAAAAAAAAAAAAAAAAAQ"
    assert encode_cluster_id("AAAAAAAAAAAAAAAAAAAAAQ") == data


@pytest.mark.parametrize("data", (b"{}", b'{"version":2,"entity_path":"topics"}', b"[]"))
def test_unusable_notification_is_an_error(data: bytes) -> None:
    with pytest.raises(DamagedFileError, match="/a: "):
        decode_config_change(data, path="/a")
    with pytest.raises(DamagedFileError, match="/a: "):
        decode_log_dir_failure(data, path="/a")
    with pytest.raises(DamagedFileError, match="/cluster/id: "):
        decode_cluster_id(data)
