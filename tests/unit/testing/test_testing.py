"""`cordwood.testing` resolves its public names lazily, with docstrings whose examples run."""

import doctest
import inspect
from typing import Final

import pytest

import cordwood
from cordwood import testing
from cordwood.testing import Kafka, KafkaOptions, KafkaTestCase
from cordwood.testing.kafka_clock import KafkaClock
from tests.unit.test_cordwood import modules_after

SUBJECTS: Final = (
    Kafka,
    Kafka.start,
    Kafka.create_topic,
    Kafka.records,
    KafkaClock.advance,
    KafkaOptions,
    KafkaTestCase,
)


@pytest.mark.parametrize("name", testing.__all__)
def test_name_is_resolved_on_first_use(name: str) -> None:
    assert getattr(testing, name).__name__ == name
    assert name in dir(testing)


def test_package_loads_no_module_of_its_own() -> None:
    loaded = modules_after("import cordwood.testing")

    assert {each for each in loaded if each.startswith("cordwood.")} == {"cordwood.testing"}


def test_unknown_name_is_rejected() -> None:
    with pytest.raises(AttributeError, match=r"'cordwood.testing' has no attribute 'nope'"):
        getattr(testing, "nope")  # noqa: B009  # the name is not there for mypy either


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.__qualname__)
def test_example_of_a_docstring_runs_as_shown(subject: object, kafka: Kafka) -> None:
    with cordwood.Producer(kafka.bootstrap) as producer:
        producer.send("orders", b"3 beams")
    names = {name: getattr(testing, name) for name in testing.__all__}
    names |= {"cordwood": cordwood, "kafka": kafka}
    text = inspect.getdoc(subject) or ""
    example = doctest.DocTestParser().get_doctest(text, names, "example", None, None)
    printed: list[str] = []

    outcome = doctest.DocTestRunner().run(example, out=printed.append)

    assert outcome.attempted > 0
    assert not outcome.failed, "".join(printed)
