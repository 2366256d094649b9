"""The base of the blocking clients."""

import pytest

from cordwood.client.blocking import Admin
from cordwood.core.errors import InvalidRequestError
from tests.unit.client.fake_broker import served


def test_closed_client_rejects_calls_and_may_be_closed_again() -> None:
    with served(t=1) as fake:
        with Admin(fake.address) as client:
            assert client.list_topics() == ["t"]
        client.close()

        with pytest.raises(InvalidRequestError, match="closed"):
            client.list_topics()


def test_client_has_its_settings() -> None:
    with served() as fake, Admin(fake.address, client_id="mine") as client:
        assert client.settings.client_id == "mine"
