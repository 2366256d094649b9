"""Arguments of a wrong kind are rejected by their name; numbers are values of settings too."""

import pytest

import cordwood
from cordwood.core.errors import InvalidRequestError, SettingError
from cordwood.testing import Kafka


def test_producer_names_the_wrong_argument(kafka: Kafka) -> None:
    with cordwood.Producer(kafka.bootstrap) as producer:
        with pytest.raises(TypeError, match="topic is b'orders'; give a text"):
            producer.send(b"orders", b"")  # type: ignore[arg-type]  # the mistake
        with pytest.raises(TypeError, match="partition is '1'; give a number"):
            producer.send("orders", b"", partition="1")  # type: ignore[arg-type]  # the mistake
        with pytest.raises(SettingError, match=r"^int is neither bytes nor text; give .*Serial"):
            producer.send("orders", 1)  # type: ignore[arg-type]  # the mistake


def test_closed_client_names_its_block(kafka: Kafka) -> None:
    with cordwood.Producer(kafka.bootstrap) as producer:
        pass

    with pytest.raises(InvalidRequestError, match="use it in its `with` or `async with` block"):
        producer.send("orders", b"")


def test_settings_of_a_topic_may_be_numbers(kafka: Kafka) -> None:
    with cordwood.Admin(kafka.bootstrap) as admin:
        admin.create_topic("orders", configs={"retention.ms": 60_000})
        admin.alter_configs(("topic", "orders"), change={"segment.ms": 1_000})

        configs = admin.describe_configs(("topic", "orders"))

    assert (configs["retention.ms"], configs["segment.ms"]) == ("60000", "1000")


def test_one_name_in_place_of_a_list_is_rejected(kafka: Kafka) -> None:
    one_name = pytest.raises(InvalidRequestError, match="'orders' is one name; give a list")

    with cordwood.Admin(kafka.bootstrap) as admin, one_name:
        admin.describe_topics("orders")
