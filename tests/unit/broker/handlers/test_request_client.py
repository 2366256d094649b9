"""Tests of the client of a request, as coordinators see it."""

from cordwood.broker.handlers.request_client import client_of
from cordwood.coordination.client_context import ClientContext
from tests.unit.broker.broker_samples import BrokerHarness


def test_client_has_the_version_and_javas_form_of_its_host() -> None:
    context = BrokerHarness().context(4, client_id=None)

    assert client_of(context) == ClientContext(4, "", "/::1")
