"""Clients show their servers and their state."""

import cordwood
from cordwood import aio
from cordwood.client.client_repr import client_repr
from cordwood.client.settings import ClientSettings
from cordwood.testing.kafka_fixture import Kafka


def test_text_has_the_servers_and_the_known_facts() -> None:
    settings = ClientSettings(bootstrap_servers="b:1,c:2")

    assert client_repr("Admin", settings) == "<cordwood.aio.Admin of b:1,c:2>"
    assert client_repr("Admin", settings, "a fact", None, is_running=False) == (
        "<cordwood.aio.Admin of b:1,c:2, a fact, not running>"
    )


def test_blocking_client_shows_its_own_name_and_state(kafka: Kafka) -> None:
    with cordwood.Producer(kafka.bootstrap, transactional_id="etl") as producer:
        running = repr(producer)

    with cordwood.Admin(kafka.bootstrap) as admin:
        assert repr(admin) == f"<cordwood.Admin of {kafka.bootstrap}>"
    assert running == f"<cordwood.Producer of {kafka.bootstrap}, transactional id 'etl'>"
    assert repr(producer) == f"{running[:-1]}, not running>"


def test_client_for_asyncio_shows_that_it_is_not_running() -> None:
    assert repr(aio.Producer("b:1")) == "<cordwood.aio.Producer of b:1, not running>"
    assert repr(aio.Admin("b:1")) == "<cordwood.aio.Admin of b:1, not running>"
