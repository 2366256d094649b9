"""Each unmodified client has the same result with our broker and with Kafka, by feature."""

from pathlib import Path
from typing import Final

import pytest

from tests.interop.kafka_harness.client_programs import SparkClient
from tests.interop.kafka_harness.clients import CLIENTS
from tests.interop.kafka_harness.conformance import Conformance, Outcome
from tests.interop.kafka_harness.feature_table import FEATURES
from tests.interop.kafka_harness.features import Feature
from tests.interop.kafka_harness.installed import made

pytestmark = [pytest.mark.interop, pytest.mark.timeout(900)]

PAGE: Final = Path(__file__).parents[2] / "docs" / "conformance.md"
FRESH_PAGE: Final = Path(__file__).parents[2] / "build" / "conformance.md"


def _outcome(conformance: Conformance, client: str, feature: Feature) -> Outcome:
    """Return the outcome; a client that is missing on this machine skips the test, except in CI."""
    return made(lambda: conformance.outcome(client, feature))


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.title)
@pytest.mark.parametrize("client", CLIENTS)
def test_client_has_the_same_result_as_with_kafka(
    conformance: Conformance, client: str, feature: Feature
) -> None:
    outcome = _outcome(conformance, client, feature)

    if outcome.error is not None:
        raise outcome.error


def test_conformance_page_matches_the_run(conformance: Conformance) -> None:
    for client in CLIENTS:
        _outcome(conformance, client, FEATURES[0])

    FRESH_PAGE.write_text(conformance.page(), encoding="utf-8")

    fresh = PAGE.read_text(encoding="utf-8") == FRESH_PAGE.read_text(encoding="utf-8")
    assert fresh, f"cp {FRESH_PAGE} {PAGE}"


def test_spark_streams_the_records_of_a_partition(conformance: Conformance) -> None:
    feature = next(each for each in FEATURES if each.title == "produce, consume by assignment")
    assert _outcome(conformance, "spark-sql-kafka", feature).error is None
    spark = conformance.client("spark-sql-kafka", conformance.broker.bootstrap)
    assert isinstance(spark, SparkClient)
    place = conformance.place("spark-sql-kafka", "a stream")
    place.create()
    records = place.fill(30)

    assert spark.stream(place.topic, start=4) == records[4:]
