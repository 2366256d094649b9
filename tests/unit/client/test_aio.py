"""The module that `cordwood.aio` is."""

import cordwood
from cordwood.client import aio, blocking


def test_facade_has_both_kinds_of_clients() -> None:
    assert cordwood.aio is aio
    assert aio.Producer.__module__ == "cordwood.client.producer"
    assert cordwood.Producer is blocking.Producer
