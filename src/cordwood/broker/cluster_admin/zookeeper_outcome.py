"""Errors of ZooKeeper as errors of a response."""

from collections.abc import Iterator
from contextlib import contextmanager

from cordwood.cluster.zookeeper.client.zookeeper_errors import ZooKeeperError
from cordwood.core.errors import DamagedFileError, RequestTimedOutError, UnknownServerError


@contextmanager
def zookeeper_outcome() -> Iterator[None]:
    """Raise a KafkaError instead of an error of the session or of a damaged node.

    The end of a session leaves it open whether the last write was made, as a timeout does.
    """
    try:
        yield
    except ZooKeeperError as error:
        raise RequestTimedOutError(f"ZooKeeper has not confirmed the change: {error}") from error
    except DamagedFileError as error:
        raise UnknownServerError(str(error)) from error
