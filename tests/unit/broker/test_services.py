"""Tests of the services of a broker."""

from cordwood.broker.services import BrokerFeatures
from tests.unit.broker.broker_samples import BrokerHarness


def test_services_have_the_given_parts() -> None:
    harness = BrokerHarness()

    harness.host()

    assert harness.broker.clock is harness.time
    assert harness.broker.partitions.get("orders", 0).log in harness.manager.all_logs()


def test_features_without_content_are_valid_for_clients() -> None:
    features = BrokerFeatures()

    assert features.supported == {}
    assert features.finalized == {}
    assert features.epoch >= 0
