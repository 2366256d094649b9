"""The page about the clients is generated from the declarations, and its examples run."""

import doctest

from cordwood.client.settings import (
    ConsumerSettings,
    ProducerSettings,
    attribute_of,
    settings_in,
)
from cordwood.testing.kafka_fixture import Kafka
from scripts.clients_page import PAGE, page


def test_page_about_clients_is_current() -> None:
    fresh = PAGE.read_text(encoding="utf-8") == page()

    assert fresh, "run python scripts/clients_page.py"


def test_page_about_clients_has_each_option() -> None:
    text = PAGE.read_text(encoding="utf-8")

    for kind in (ProducerSettings, ConsumerSettings):
        for setting in settings_in(kind):
            assert text.count(f"| `{attribute_of(setting.name)}` | `{setting.name}`") == 1


def test_examples_of_the_page_run_as_shown(kafka: Kafka) -> None:
    text = PAGE.read_text(encoding="utf-8").replace("127.0.0.1:9092", kafka.bootstrap)
    examples = doctest.DocTestParser().get_doctest(text, {}, "clients.md", None, None)
    flags = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    printed: list[str] = []

    outcome = doctest.DocTestRunner(optionflags=flags).run(examples, out=printed.append)

    assert outcome.attempted > 20
    assert not outcome.failed, "".join(printed)
