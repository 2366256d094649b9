"""What the tests of a broker's sockets share."""

from tests.unit.broker.server_samples import run

__all__ = ["run"]
