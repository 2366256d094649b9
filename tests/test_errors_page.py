"""The page of errors is generated from the classes, with Kafka's names and a remedy for each."""

import re

import pytest

from cordwood.core.errors import ERRORS_BY_CODE
from cordwood.testing.kafka_fixture import Kafka
from scripts.errors_page import PAGE, kafka_name_of, page
from tests.unit.core.errors.kafka_4_3_codes import CONSTANTS


def test_page_of_errors_is_current() -> None:
    fresh = PAGE.read_text(encoding="utf-8") == page()

    assert fresh, "run python scripts/errors_page.py"


def test_page_of_errors_has_the_names_of_kafka() -> None:
    named = {code: kafka_name_of(error) for code, error in ERRORS_BY_CODE.items()}

    assert named == {code: CONSTANTS[code] for code in named}


def test_page_of_errors_has_each_error_once() -> None:
    text = PAGE.read_text(encoding="utf-8")

    counts = {
        each.__name__: text.count(f"| `{each.__name__}` |") for each in ERRORS_BY_CODE.values()
    }

    assert set(counts.values()) == {1}


def test_example_of_the_page_runs(kafka: Kafka, capsys: pytest.CaptureFixture[str]) -> None:
    found = re.search(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert found is not None

    exec(found[1].replace("127.0.0.1:9092", kafka.bootstrap), {})

    assert capsys.readouterr().out.startswith("3 the cluster has no topic 'ordres'")
