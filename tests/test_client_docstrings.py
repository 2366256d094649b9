"""The examples in the docstrings of the clients run as shown, and `help` names every option."""

import asyncio
import doctest
import inspect
import pydoc
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Final

import pytest

import cordwood
from cordwood import aio
from cordwood.client.settings import (
    ClientSettings,
    ConsumerSettings,
    ProducerSettings,
    attribute_of,
    settings_in,
)
from cordwood.testing.kafka_fixture import Kafka

ADDRESS: Final = "127.0.0.1:9092"
VALUES: Final = (b"3 beams", b"4 posts", b"5 planks")
SETTINGS: Final = {
    cordwood.Producer: ProducerSettings,
    cordwood.Consumer: ConsumerSettings,
    cordwood.Admin: ClientSettings,
    aio.Producer: ProducerSettings,
    aio.Consumer: ConsumerSettings,
    aio.Admin: ClientSettings,
}
#: Calls without an example: two need a hanging transaction or encoded records, one decodes itself.
WITHOUT_EXAMPLE: Final = {"abort_transaction", "send_batch", "record_sets"}


def methods(client: type) -> Iterator[tuple[str, object]]:
    """Yield the public methods of a client."""
    for name in dir(client):
        if not name.startswith("_"):
            yield name, getattr(client, name)


def documented() -> Iterator[tuple[str, str]]:
    """Yield the names and docstrings of all clients, and of the methods of the blocking ones."""
    for client in SETTINGS:
        name = f"{client.__module__.split('.')[2]}.{client.__name__}"
        yield name, inspect.getdoc(client) or ""
        for method, value in methods(client):
            yield f"{name}.{method}", inspect.getdoc(value) or ""


EXAMPLES: Final = {name: text for name, text in documented() if ">>>" in text}


@pytest.fixture
def names(kafka: Kafka, request: pytest.FixtureRequest) -> Iterator[dict[str, object]]:
    """Yield the names that examples use: clients of a broker with three records in `orders`."""
    kafka.create_topic("orders", partitions=2)
    with ExitStack() as open_clients:
        enter = open_clients.enter_context
        producer = enter(cordwood.Producer(kafka.bootstrap))
        if ".Producer" not in request.node.callspec.id:
            for value in VALUES:
                producer.send("orders", value, partition=0)
            producer.flush()
        admin = enter(cordwood.Admin(kafka.bootstrap))
        transactional = enter(cordwood.Producer(kafka.bootstrap, transactional_id="etl"))
        if ".Admin" in request.node.callspec.id:
            admin.alter_group_offsets("billing", {("orders", 0): 2})
            transactional.init()
        consumer = enter(
            cordwood.Consumer(kafka.bootstrap, group="shipping", auto_offset_reset="earliest")
        )
        yield {
            "admin": admin,
            "aio": aio,
            "asyncio": asyncio,
            "consumer": consumer,
            "cordwood": cordwood,
            "producer": producer,
            "transactional": transactional,
        }


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_of_a_docstring_runs_as_shown(
    name: str, kafka: Kafka, names: dict[str, object]
) -> None:
    text = EXAMPLES[name].replace(ADDRESS, kafka.bootstrap)
    example = doctest.DocTestParser().get_doctest(text, names, name, None, None)
    printed: list[str] = []

    outcome = doctest.DocTestRunner().run(example, out=printed.append, clear_globs=False)

    assert outcome.attempted > 0
    assert not outcome.failed, "".join(printed)


@pytest.mark.parametrize("client", (cordwood.Producer, cordwood.Consumer, cordwood.Admin))
def test_method_of_a_client_has_an_example(client: type) -> None:
    missing = {
        name for name, value in methods(client) if ">>>" not in (inspect.getdoc(value) or "")
    }

    assert missing <= WITHOUT_EXAMPLE


@pytest.mark.parametrize("client", SETTINGS, ids=str)
def test_help_names_each_option_with_its_default_and_meaning(client: type) -> None:
    shown = pydoc.plain(pydoc.render_doc(client))
    parameters = inspect.signature(client).parameters
    flat = " ".join(shown.replace("|", "").split())

    for setting in settings_in(SETTINGS[client]):
        name = attribute_of(setting.name)
        assert parameters[name].default == setting.default
        doc = " ".join(setting.doc.replace("|", "").split())
        assert f"{name} (default: {setting.default!r}) {doc}" in flat
    assert "**options" not in shown.split("from_config")[0]
