"""The table of all APIs."""

import pytest

from cordwood.core.errors import UnsupportedVersionError
from cordwood.protocol.apis import API_VERSIONS, APIS, CONTROLLED_SHUTDOWN, Api, api_of

each_api = pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)


@each_api
def test_api_has_messages_of_its_key_and_versions(api: Api) -> None:
    for kind in (api.request(), api.response()):
        schema = kind.__schema__
        served = (3, 13) if api.name == "Produce" else (api.first, api.last)
        assert (schema.api_key, schema.versions) == (api.key, served)
        assert schema.flexible_since == api.flexible_since


def test_apis_stand_in_the_order_of_their_keys() -> None:
    assert list(APIS) == sorted(APIS)


def test_apis_between_brokers_are_those_that_kafka_4_dropped() -> None:
    assert [key for key, api in APIS.items() if api.is_between_brokers] == [4, 5, 6, 7, 56]


def test_named_apis_are_what_they_say() -> None:
    assert (API_VERSIONS.name, CONTROLLED_SHUTDOWN.name) == ("ApiVersions", "ControlledShutdown")


def test_module_is_the_name_in_lower_case_with_underscores() -> None:
    assert api_of(27).module == "cordwood.protocol.messages.write_txn_markers"


def test_unknown_key_is_refused() -> None:
    with pytest.raises(UnsupportedVersionError, match="no API 71"):
        api_of(71)
