"""Errors of records that the sender cannot send in time."""

import pytest

from cordwood.client.producer.partition_queue import NewRecord
from cordwood.client.producer.sender_errors import buffer_timeout, ensure_partition
from cordwood.client.settings import ProducerSettings
from cordwood.core.errors import InvalidRequestError


def test_partition_has_to_exist() -> None:
    record = NewRecord("t", 3, None, b"v", 0, (), 10)

    ensure_partition(record, 4)
    with pytest.raises(InvalidRequestError, match="no partition 3: choose one from 0 to 2"):
        ensure_partition(record, 3)


def test_buffer_timeout_names_both_settings() -> None:
    settings = ProducerSettings(bootstrap_servers="b:1", buffer_memory=10, max_block_ms=20)

    assert "10 bytes (buffer_memory)" in str(buffer_timeout(settings))
    assert "20 ms (max_block_ms)" in str(buffer_timeout(settings))
