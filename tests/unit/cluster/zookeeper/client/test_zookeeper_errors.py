"""Tests of ZooKeeper's errors."""

import pickle

from cordwood.cluster.zookeeper.client.zookeeper_errors import (
    BadVersionError,
    ConnectionLossError,
    ZooKeeperError,
)
from cordwood.core.errors import CordwoodError


def test_error_names_the_path_and_the_problem() -> None:
    error = BadVersionError("/a", operation=2)

    assert str(error) == "/a: the node has another version"
    assert (error.path, error.operation) == ("/a", 2)
    assert isinstance(error, CordwoodError)


def test_error_of_a_multi_without_a_path_names_zookeeper() -> None:
    assert str(ConnectionLossError()) == "ZooKeeper: the connection was lost before the response"


def test_error_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(ZooKeeperError("/a", operation=1)))

    assert (str(error), error.operation) == ("/a: the request failed", 1)
