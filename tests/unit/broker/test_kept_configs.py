"""Configurations in the metadata: believed where they are known, changed as a whole."""

from cordwood.broker.config_resources import ALL_BROKERS, topic_resource
from cordwood.broker.configs import BrokerConfigs
from cordwood.broker.kept_configs import forget_texts, keep_texts, known_texts, load_configs
from cordwood.broker.topic_nodes import folders
from cordwood.core.metadata_nodes import encode_texts
from cordwood.core.nodes import CreateNode
from cordwood.testing.metadata import MemoryMetadata

ORDERS = topic_resource("orders")


def store(**texts: dict[str, str]) -> MemoryMetadata:
    made = MemoryMetadata()
    nodes = [CreateNode(f"/config/topics/{name}", encode_texts(texts[name])) for name in texts]
    made.multi([*folders(), *nodes])
    return made


def test_texts_that_cannot_be_are_passed_over_and_told() -> None:
    events: list[str] = []
    texts = {"retention.ms": "5", "no.such": "1", "segment.bytes": "x"}

    known = known_texts(texts, ORDERS, on_event=events.append)

    assert known == {"retention.ms": "5"}
    assert events == [
        "/config/topics/orders: no.such is passed over: Unknown topic config name: no.such",
        (
            "/config/topics/orders: segment.bytes is passed over:"
            " Invalid value x for configuration segment.bytes: Not a number of type INT"
        ),
    ]


def test_configuration_is_as_it_was_kept() -> None:
    kept = store(orders={"retention.ms": "5"}, other={})
    kept.multi([CreateNode("/config/brokers/<default>", encode_texts({"log.retention.ms": "7"}))])
    kept.multi([CreateNode("/config/brokers/1", encode_texts({"log.segment.bytes": "1048576"}))])
    configs, events = BrokerConfigs(1, []), list[str]()

    load_configs(kept, configs, on_event=events.append)

    assert configs.config_for("orders").retention_ms == 5
    assert configs.config_for("other").retention_ms == 7
    assert configs.config_for("other").segment_bytes == 1048576
    assert not events
    assert configs.texts(ALL_BROKERS) == {"log.retention.ms": "7"}


def test_configuration_is_as_it_was_given_where_nothing_was_kept() -> None:
    configs = BrokerConfigs(1, [])

    load_configs(store(), configs, on_event=str)

    assert configs.texts(ALL_BROKERS) == {}


def test_texts_are_kept_again_and_again() -> None:
    kept = store()

    kept.multi([keep_texts(kept, ORDERS, texts={"a": "1"})])
    kept.multi([keep_texts(kept, ORDERS, texts={})])

    node = kept.get("/config/topics/orders")
    assert node is not None
    assert node == (encode_texts({}), 1)


def test_texts_are_forgotten_if_there_are_any() -> None:
    kept = store(orders={"a": "1"})

    kept.multi([*forget_texts(kept, ORDERS), *forget_texts(kept, topic_resource("none"))])

    assert kept.children("/config/topics") == []
