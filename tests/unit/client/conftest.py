"""Fixtures that the tests of the clients share with those of the broker."""

from tests.unit.broker.conftest import identity

__all__ = ["identity"]
