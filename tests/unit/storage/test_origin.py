"""The origins of an append."""

from cordwood.storage.origin import Origin


def test_origins_are_those_that_kafka_tells_apart() -> None:
    assert [origin.name for origin in Origin] == [
        "CLIENT",
        "COORDINATOR",
        "RAFT_LEADER",
        "REPLICATION",
    ]
