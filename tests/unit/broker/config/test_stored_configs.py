"""Tests of stored configurations."""

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.config.config_resources import (
    ALL_BROKERS,
    group_resource,
    topic_resource,
)
from cordwood.broker.config.stored_configs import (
    delete_texts,
    initial_texts,
    known_texts,
    load_configs,
    put_texts,
)
from cordwood.broker.metadata.topic_znodes import folders
from cordwood.core.metadata_paths import encode_texts
from cordwood.core.settings import SettingSource
from cordwood.core.znodes import CreateZNode
from cordwood.testing.memory_metadata import MemoryMetadata

ORDERS = topic_resource("orders")


def store(**texts: dict[str, str]) -> MemoryMetadata:
    made = MemoryMetadata()
    nodes = [CreateZNode(f"/config/topics/{name}", encode_texts(texts[name])) for name in texts]
    made.multi([*folders(), *nodes])
    return made


def test_invalid_texts_are_ignored_and_reported() -> None:
    events: list[str] = []
    texts = {"retention.ms": "5", "no.such": "1", "segment.bytes": "x"}

    known = known_texts(texts, ORDERS, on_event=events.append)

    assert known == {"retention.ms": "5"}
    assert events == [
        "/config/topics/orders: no.such is ignored: Unknown topic config name: no.such",
        (
            "/config/topics/orders: segment.bytes is ignored:"
            " Invalid value x for configuration segment.bytes: Not a number of type INT"
        ),
    ]


def test_configuration_is_loaded_from_the_store() -> None:
    kept = store(orders={"retention.ms": "5"}, other={})
    kept.multi([CreateZNode("/config/brokers/<default>", encode_texts({"log.retention.ms": "7"}))])
    kept.multi([CreateZNode("/config/brokers/1", encode_texts({"log.segment.bytes": "1048576"}))])
    configs, events = BrokerConfigs(1, []), list[str]()

    load_configs(kept, configs, on_event=events.append)

    assert configs.config_for("orders").retention_ms == 5
    assert configs.config_for("other").retention_ms == 7
    assert configs.config_for("other").segment_bytes == 1048576
    assert not events
    assert configs.texts(ALL_BROKERS) == {"log.retention.ms": "7"}


def test_new_cluster_sets_the_minimum_of_in_sync_replicas_of_startup() -> None:
    given = SettingSource("server.properties", {"min.insync.replicas": "2"})

    assert initial_texts(BrokerConfigs(1, [given])) == {"min.insync.replicas": "2"}
    assert initial_texts(BrokerConfigs(1, [])) == {"min.insync.replicas": "1"}


def test_startup_value_that_the_store_overrides_is_reported() -> None:
    kept = store()
    texts = encode_texts({"min.insync.replicas": "1"})
    kept.multi([CreateZNode("/config/brokers/<default>", texts)])
    given = SettingSource("server.properties", {"min.insync.replicas": "2"})
    same = SettingSource("server.properties", {"min.insync.replicas": "1"})
    events, silent = list[str](), list[str]()

    load_configs(kept, BrokerConfigs(1, [given]), on_event=events.append)
    load_configs(kept, BrokerConfigs(1, [same]), on_event=silent.append)

    (event,) = events
    assert event.startswith(
        "/config/brokers/<default>: min.insync.replicas is 1, which overrides 2 of the startup"
    )
    assert silent == []


def test_configuration_is_that_of_startup_if_the_store_is_empty() -> None:
    configs = BrokerConfigs(1, [])

    load_configs(store(), configs, on_event=str)

    assert configs.texts(ALL_BROKERS) == {}


def test_texts_are_stored_repeatedly() -> None:
    kept = store()

    kept.multi(put_texts(kept, ORDERS, texts={"a": "1"}))
    kept.multi(put_texts(kept, ORDERS, texts={}))

    node = kept.get("/config/topics/orders")
    assert node is not None
    assert node == (encode_texts({}), 1)


def test_texts_are_deleted_if_they_exist() -> None:
    kept = store(orders={"a": "1"})

    kept.multi([*delete_texts(kept, ORDERS), *delete_texts(kept, topic_resource("none"))])

    assert kept.children("/config/topics") == []


def test_texts_of_groups_are_loaded_under_any_name() -> None:
    kept, billing, odd = store(), group_resource("billing"), group_resource("a/b é")
    for each, text in ((billing, "50000"), (odd, "51000")):
        kept.multi(put_texts(kept, each, texts={"consumer.session.timeout.ms": text}))
    configs = BrokerConfigs(1, [])

    load_configs(kept, configs, on_event=str)

    assert configs.group_numbers("billing") == {"consumer.session.timeout.ms": 50_000}
    assert configs.group_numbers("a/b é") == {"consumer.session.timeout.ms": 51_000}


def test_group_without_texts_has_no_node() -> None:
    kept, billing = store(), group_resource("billing")
    kept.multi(put_texts(kept, billing, texts={"consumer.session.timeout.ms": "50000"}))

    kept.multi(put_texts(kept, billing, texts={}))
    kept.multi(put_texts(kept, billing, texts={}))

    assert kept.children("/config/groups") == []
