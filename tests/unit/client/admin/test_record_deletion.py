"""Records of several partitions are deleted, and an error states which (K-C7)."""

import pytest

from cordwood.client.admin.record_deletion import RecordDeletion
from cordwood.client.topic_partitions import partitions_of
from cordwood.core.errors import (
    NetworkError,
    NotLeaderOrFollowerError,
    OffsetOutOfRangeError,
    RequestTimedOutError,
)
from cordwood.protocol.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

T0, T1 = partitions_of([("t", 0), ("t", 1)])
OUT_OF_RANGE, NOT_LEADER = 1, 6


def response(codes: dict[int, int]) -> DeleteRecordsResponse:
    """Return the answer of a leader: error codes by partition."""
    results = [
        DeleteRecordsPartitionResult(partition_index=each, low_watermark=10 + each, error_code=code)
        for each, code in codes.items()
    ]
    return DeleteRecordsResponse(topics=[DeleteRecordsTopicResult(name="t", partitions=results)])


def test_log_starts_are_returned_by_partition() -> None:
    deletion = RecordDeletion({T0: 10, T1: -1})

    deletion.handle_response(response({0: 0, 1: 0}))

    deletion.ensure_success()
    assert deletion.starts == {T0: 10, T1: 11}


def test_error_of_a_partition_names_those_that_are_done() -> None:
    deletion = RecordDeletion({T0: 10, T1: 99})

    deletion.handle_response(response({1: OUT_OF_RANGE, 0: 0}))

    deletion.ensure_answered()
    with pytest.raises(
        OffsetOutOfRangeError, match=r"t-1: .*; deleted: t-0 up to 10; not confirmed: t-1"
    ):
        deletion.ensure_success()


def test_partition_that_is_done_is_not_sent_again() -> None:
    """The offset -1 would delete records that were written since."""
    deletion = RecordDeletion({T0: -1, T1: -1})

    deletion.handle_response(response({0: 0, 1: NOT_LEADER}))

    with pytest.raises(NotLeaderOrFollowerError):
        deletion.ensure_answered()
    assert deletion.pending == [T1]
    request = deletion.request(deletion.pending, timeout_ms=1)
    assert [each.partition_index for each in request.topics[0].partitions] == [1]


def test_error_of_one_partition_alone_stays_as_it_is() -> None:
    error = RequestTimedOutError("too late")

    assert RecordDeletion({T0: 1}).described(error) is error


def test_leader_that_cannot_be_reached_fails_its_partitions_alone() -> None:
    deletion = RecordDeletion({T0: 1, T1: 1})

    deletion.fail([T1], NetworkError("refused"))
    deletion.handle_response(response({0: 0}))

    with pytest.raises(NetworkError):
        deletion.ensure_answered()
    assert (deletion.pending, deletion.starts) == ([T1], {T0: 10})
