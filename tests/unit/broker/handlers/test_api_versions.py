"""Tests of the ApiVersions handler."""

import asyncio
from dataclasses import replace

import pytest

from cordwood.broker.dispatch import ROUTES
from cordwood.broker.handlers.api_versions import api_versions, unsupported_version_response
from cordwood.broker.network.request_context import ConnectionInfo, RequestContext
from cordwood.broker.services import BrokerFeatures, FeatureVersionRange
from cordwood.protocol.apis import api_of
from cordwood.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tests.unit.broker.broker_samples import BrokerHarness

FEATURES = BrokerFeatures(
    supported={"from.0": FeatureVersionRange(0, 2), "from.1": FeatureVersionRange(1, 1)},
    finalized={"from.0": FeatureVersionRange(1, 2)},
    epoch=5,
)


def connection() -> ConnectionInfo:
    return ConnectionInfo(id=1, host="::1", port=1, listener="PLAINTEXT", is_secure=False)


def ask(
    version: int,
    *,
    name: str = "client",
    software: str = "1.0",
    by: ConnectionInfo | None = None,
) -> ApiVersionsResponse:
    broker = replace(BrokerHarness().broker, features=FEATURES)
    context = RequestContext(18, version, 1, None, by or connection())
    request = ApiVersionsRequest(client_software_name=name, client_software_version=software)
    return asyncio.run(api_versions(broker, context, request))


def test_every_route_is_advertised_with_its_versions() -> None:
    told = {each.api_key: (each.min_version, each.max_version) for each in ask(4).api_keys}

    assert told == {key: (api_of(key).first, api_of(key).last) for key in ROUTES}


def test_unsupported_version_gets_the_versions_of_this_api() -> None:
    answer = unsupported_version_response()

    assert answer.error_code == 35
    assert [(each.api_key, each.max_version) for each in answer.api_keys] == [(18, 4)]


@pytest.mark.parametrize(("version", "told"), ((3, ["from.1"]), (4, ["from.0", "from.1"])))
def test_feature_with_lowest_version_0_is_returned_from_version_4(
    version: int, told: list[str]
) -> None:
    assert [each.name for each in ask(version).supported_features] == told


def test_finalized_features_are_returned_with_their_epoch() -> None:
    answer = ask(3)

    finalized = answer.finalized_features[0]
    assert (finalized.name, finalized.min_version_level, finalized.max_version_level) == (
        "from.0",
        1,
        2,
    )
    assert answer.finalized_features_epoch == 5


@pytest.mark.parametrize("name", ("a", "apache-kafka-java", "a.b", "9"))
def test_software_is_remembered(name: str) -> None:
    by = connection()

    assert ask(3, name=name, software="4.3.0", by=by).error_code == 0
    assert (by.software_name, by.software_version) == (name, "4.3.0")


@pytest.mark.parametrize("name", ("", "-a", "a-", "a b", "a\n", "ä", ".", "a_b"))
def test_invalid_software_name_is_rejected(name: str) -> None:
    by = connection()

    answers = [ask(3, name=name, by=by), ask(3, software=name, by=by)]

    assert [answer.error_code for answer in answers] == [42, 42]
    assert by.software_name == ""


def test_software_name_is_ignored_before_version_3() -> None:
    assert ask(2, name="", software="").error_code == 0
