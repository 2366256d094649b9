"""The table of all APIs: keys, versions and uses."""

import ast
import importlib
from pathlib import Path

import pytest

from cordwood import client
from cordwood.broker.dispatch import CLUSTER_ROUTES, ROUTES
from cordwood.core.errors import UnsupportedVersionError
from cordwood.protocol.apis import API_VERSIONS, APIS, CONTROLLED_SHUTDOWN, Api, ApiUse, api_of
from cordwood.protocol.schema import Request

each_api = pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)


@each_api
def test_api_has_messages_of_its_key_and_versions(api: Api) -> None:
    for kind in (api.request(), api.response()):
        schema = kind.__schema__
        served = (3, 13) if api.name == "Produce" else (api.first, api.last)
        assert schema.api_key == api.key
        assert schema.versions == served
        assert schema.flexible_since == api.flexible_since


def test_apis_are_in_the_order_of_their_keys() -> None:
    assert list(APIS) == sorted(APIS)


def test_apis_between_brokers_are_those_that_kafka_39_sends_itself() -> None:
    assert [key for key, api in APIS.items() if api.is_between_brokers] == [4, 5, 6, 7, 56, 67]


def test_named_apis_are_those_of_their_names() -> None:
    assert API_VERSIONS.name == "ApiVersions"
    assert CONTROLLED_SHUTDOWN.name == "ControlledShutdown"


def imported_by_clients() -> set[str]:
    """Return the request classes that the modules of our clients import."""
    folder = Path(client.__path__[0])
    return {
        alias.name
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith("cordwood.protocol.messages.")
        for alias in node.names
        if alias.name.endswith("Request") and is_request(node.module or "", alias.name)
    }


def is_request(module: str, name: str) -> bool:
    """Return whether a class is a whole request, not a part of one (`TopicRequest`)."""
    return issubclass(getattr(importlib.import_module(module), name), Request)


def test_served_apis_are_those_routed_by_the_broker() -> None:
    served = {key: api for key, api in APIS.items() if ApiUse.SERVED in api.use}

    assert set(served) == set(CLUSTER_ROUTES)
    assert {key for key, api in served.items() if not api.is_between_brokers} == set(ROUTES)


def test_client_apis_are_those_sent_by_our_clients() -> None:
    sent = {f"{api.name}Request" for api in APIS.values() if ApiUse.CLIENT in api.use}

    assert sent == imported_by_clients()


def test_reserved_apis_have_no_other_use() -> None:
    reserved = [api for api in APIS.values() if api.use is ApiUse.RESERVED]

    assert len(reserved) == len(APIS) - len(CLUSTER_ROUTES)


def test_module_is_the_name_in_lower_case_with_underscores() -> None:
    assert api_of(27).module == "cordwood.protocol.messages.write_txn_markers"


def test_unknown_key_is_rejected() -> None:
    with pytest.raises(UnsupportedVersionError, match="no API 71"):
        api_of(71)
