"""Timestamps of the first records that are not consumed."""

import cordwood
from cordwood.cli.groups.waiting_records import first_timestamp, waiting_since
from tests.unit.cli.groups.group_samples import make_group, place

P0, P1 = place("orders", 0), place("orders", 1)


def test_timestamp_is_that_of_the_record_at_the_offset(bootstrap: str) -> None:
    make_group(bootstrap, {("orders", 0): 1})
    config = {"bootstrap.servers": bootstrap}

    found = waiting_since(config, {P0: 1, P1: 0}, log_ends={P0: 4, P1: 0}, timeout_ms=5_000)

    assert found == {P0: 1_000, P1: None}


def test_partition_without_a_leader_is_absent(bootstrap: str) -> None:
    assert waiting_since({"bootstrap.servers": bootstrap}, {P0: 1}, log_ends={}, timeout_ms=1) == {}


def test_marker_of_a_transaction_is_no_record(bootstrap: str) -> None:
    make_group(bootstrap, {("orders", 0): 1})
    with cordwood.Producer(bootstrap, transactional_id="etl") as producer:
        producer.begin()
        producer.send("orders", b"5", partition=0, timestamp_ms=2_000).result()
        producer.commit()
    config = {"bootstrap.servers": bootstrap}

    assert waiting_since(config, {P0: 4}, log_ends={P0: 6}, timeout_ms=5_000) == {P0: 2_000}
    assert waiting_since(config, {P0: 5}, log_ends={P0: 6}, timeout_ms=5_000) == {P0: None}


def test_first_timestamp_is_that_of_the_next_record(bootstrap: str) -> None:
    make_group(bootstrap, {("orders", 0): 1})
    with cordwood.Consumer(bootstrap) as consumer:
        consumer.assign([("orders", 0)])
        consumer.seek(("orders", 0), 3)

        assert first_timestamp(next(consumer.record_sets(timeout_ms=5_000))) == 1_000
