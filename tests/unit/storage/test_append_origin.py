"""The origins of an append."""

from cordwood.storage.append_origin import AppendOrigin


def test_origins_are_those_of_kafka() -> None:
    assert [origin.name for origin in AppendOrigin] == [
        "CLIENT",
        "COORDINATOR",
        "RAFT_LEADER",
        "REPLICATION",
    ]
