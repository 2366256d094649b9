"""Confluent's REST calls to a registry, and the errors of one that fails."""

import pickle
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import pytest

from cordwood.core.errors import SchemaRegistryError, SettingError
from cordwood.spark.formats.schema_registry import (
    RegistrySettings,
    SchemaRegistry,
    parse_registry,
)
from cordwood.spark.formats.schema_source import (
    AVRO,
    JSON,
    SchemaReference,
    SchemaText,
    UnknownSchemaError,
)
from tests.unit.spark.formats.registry_server import RegistryServer, registry_server

FIRST: Final = SchemaText(AVRO, '"string"')
SECOND: Final = SchemaText(JSON, "{}", (SchemaReference("a.json", "a", 3),))
SUBJECT: Final = "orders/eu-value"


@pytest.fixture(name="server")
def fixture_server() -> Iterator[RegistryServer]:
    """Yield an empty registry."""
    with registry_server() as server:
        yield server


@pytest.fixture(name="registry")
def fixture_registry(server: RegistryServer) -> SchemaRegistry:
    """Return a client of the registry."""
    return parse_registry(server.url)


def test_registered_schema_is_found_by_id_by_subject_and_by_version(
    registry: SchemaRegistry,
) -> None:
    assert [registry.register(SUBJECT, each) for each in (FIRST, SECOND)] == [1, 2]

    assert registry.by_id(1) == FIRST
    assert registry.by_id(2) == SECOND
    assert registry.by_version(SUBJECT, 1) == FIRST
    assert registry.id_of(SUBJECT) == 2
    assert registry.id_of(1) == 1


def test_schema_is_asked_for_once_in_a_process(server: RegistryServer) -> None:
    parse_registry(server.url).register(SUBJECT, FIRST)

    for _ in range(3):
        parse_registry(server.url).by_id(1)

    assert server.requests[1:] == ["GET /schemas/ids/1?format=serialized"]


def test_schema_that_is_registered_later_is_found(registry: SchemaRegistry) -> None:
    with pytest.raises(UnknownSchemaError, match="the registry has none"):
        registry.by_id(1)

    registry.register(SUBJECT, FIRST)

    assert registry.by_id(1) == FIRST


@pytest.mark.parametrize("status", (301, 404))
def test_gateway_without_a_registry_is_not_an_unknown_schema(
    server: RegistryServer, registry: SchemaRegistry, status: int
) -> None:
    server.failures = [(status, b'{"message": "no route"}')]

    with pytest.raises(SchemaRegistryError, match=rf"status {status}: no route"):
        registry.by_id(1)


def test_unknown_version_and_subject_are_errors(registry: SchemaRegistry) -> None:
    with pytest.raises(UnknownSchemaError, match="no version 4 of orders"):
        registry.by_version("orders", 4)
    with pytest.raises(SettingError, match="the registry has no subject orders"):
        registry.id_of("orders")


def test_schema_of_a_registry_has_no_default(registry: SchemaRegistry) -> None:
    with pytest.raises(SettingError, match="a registry has schemas of many subjects"):
        registry.id_of(None)


def test_incompatible_schema_is_rejected_with_the_words_of_the_registry(
    registry: SchemaRegistry,
) -> None:
    with pytest.raises(SettingError, match="Schema being registered is incompatible"):
        registry.register("orders", SchemaText(AVRO, '"incompatible"'))


@pytest.mark.parametrize("status", (429, 500, 503))
def test_call_is_repeated_after_an_error_of_the_server(
    server: RegistryServer, registry: SchemaRegistry, status: int
) -> None:
    registry.register("orders", FIRST)
    server.failures = [(status, b"{}"), (status, b"")]

    assert registry.by_id(1) == FIRST


def test_other_node_is_asked_if_one_does_not_answer(server: RegistryServer) -> None:
    registry = parse_registry(f"http://127.0.0.1:1, {server.url}/")
    registry.register("orders", FIRST)

    assert registry.by_id(1) == FIRST


def test_registry_that_does_not_answer_is_an_error() -> None:
    with pytest.raises(SchemaRegistryError, match=r"http://127\.0\.0\.1:1: .*refused"):
        parse_registry("http://127.0.0.1:1").by_id(1)


def test_server_that_is_no_registry_is_an_error(
    server: RegistryServer, registry: SchemaRegistry
) -> None:
    server.failures = [(200, b"<html>")]

    with pytest.raises(SchemaRegistryError, match="is not a schema registry"):
        registry.by_id(1)


@pytest.mark.parametrize(
    ("more", "sent"),
    (
        ({}, None),
        ({"user": "ada", "password": "x:y"}, "Basic YWRhOng6eQ=="),
        ({"token": "secret"}, "Bearer secret"),
    ),
)
def test_login_is_sent(server: RegistryServer, more: dict[str, str], sent: str | None) -> None:
    registry = SchemaRegistry(replace(RegistrySettings(urls=(server.url,)), **more))  # type: ignore[arg-type]  # all are texts

    registry.register("orders", FIRST)

    assert server.logins == [sent]


def test_refused_login_is_an_error(server: RegistryServer, registry: SchemaRegistry) -> None:
    server.failures = [(401, b"{}")]

    with pytest.raises(SchemaRegistryError, match=r"refuses the login \(status 401\)"):
        registry.by_id(1)


def test_login_is_not_shown() -> None:
    assert "s:cret" not in repr(parse_registry("https://ada:s%3Acret@registry").settings)


def test_login_in_the_address_is_not_part_of_the_address() -> None:
    settings = parse_registry("https://ada:s%3Acret@registry:8081/api").settings

    assert settings.urls == ("https://registry:8081/api",)
    assert (settings.user, settings.password) == ("ada", "s:cret")


@pytest.mark.parametrize("text", ("registry:8081", "ftp://registry", "http://", "http://a,b"))
def test_text_that_is_no_address_is_rejected(text: str) -> None:
    with pytest.raises(SettingError, match="is not an address of a registry"):
        parse_registry(text)


def test_client_can_be_pickled(registry: SchemaRegistry) -> None:
    registry.register("orders", FIRST)
    registry.by_id(1)

    copy = pickle.loads(pickle.dumps(registry))  # our own

    assert copy.settings == registry.settings
    assert copy.by_id(1) == FIRST
