"""Tests of the last allocated block of producer ids."""

import json

import pytest

from cordwood.core.errors import DamagedFileError
from cordwood.core.producer_id_block import format_block, next_producer_id


def test_block_is_stored_in_kafka_s_form() -> None:
    stored = json.loads(format_block(range(1000), 7))

    assert stored == {"version": 1, "broker": 7, "block_start": "0", "block_end": "999"}


def test_next_id_follows_the_block() -> None:
    assert next_producer_id(None) == 0
    assert next_producer_id(format_block(range(4000, 5000), 7)) == 5000


@pytest.mark.parametrize("latest", (b"", b"[]", b"{}", b'{"block_end":"x"}'))
def test_invalid_block_is_rejected(latest: bytes) -> None:
    with pytest.raises(DamagedFileError, match="not handed out again"):
        next_producer_id(latest)
