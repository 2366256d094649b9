"""Every unmodified client does with our broker what it does with Kafka, feature by feature."""

import os

import pytest

from tests.interop.kafka_harness.clients import CLIENTS
from tests.interop.kafka_harness.conformance import Conformance
from tests.interop.kafka_harness.features import FEATURES, Feature
from tests.interop.kafka_harness.jars import MissingToolError

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.title)
@pytest.mark.parametrize("client", CLIENTS)
def test_client_finds_what_it_finds_with_kafka(
    conformance: Conformance, client: str, feature: Feature
) -> None:
    try:
        outcome = conformance.outcome(client, feature)
    except MissingToolError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))

    if outcome.error is not None:
        raise outcome.error
