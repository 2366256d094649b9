"""Tests of ZooKeeper's errors in responses."""

import pytest

from cordwood.broker.cluster_admin.zookeeper_outcome import zookeeper_outcome
from cordwood.cluster.zookeeper.client.zookeeper_errors import SessionExpiredError
from cordwood.core.errors import (
    CordwoodError,
    DamagedFileError,
    NotControllerError,
    RequestTimedOutError,
    UnknownServerError,
)


@pytest.mark.parametrize(
    ("raised", "expected"),
    (
        (SessionExpiredError(), RequestTimedOutError),
        (DamagedFileError("bad", path="/p", remedy="none"), UnknownServerError),
        (NotControllerError(), NotControllerError),
    ),
)
def test_error_has_a_code_of_kafka(raised: CordwoodError, expected: type[Exception]) -> None:
    with pytest.raises(expected), zookeeper_outcome():
        raise raised
