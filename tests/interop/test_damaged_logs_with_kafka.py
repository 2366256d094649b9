"""Kafka's answers on the page of damage are what Kafka's log classes do.

Every fifth row is run, and all of them with CORDWOOD_SOAK=1.
"""

import json
import os
from pathlib import Path
from typing import Final

import pytest

from tests.damage.outcomes import kafka_words
from tests.damage.page import ANSWERS, key_of
from tests.damage.rows import kinds
from tests.interop.kafka_harness.damaged_logs import DamagedLogs
from tests.interop.kafka_harness.jars import Jars

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

STEP: Final = 1 if os.environ.get("CORDWOOD_SOAK") == "1" else 5


def test_kafka_answers_as_the_page_has_it(kafka43_jars: Jars, tmp_path: Path) -> None:
    known = json.loads(ANSWERS.read_text(encoding="utf-8"))
    rows = list(kinds())[::STEP]

    with DamagedLogs(kafka43_jars) as kafka:
        answers = {
            key_of(kind): kafka_words(kafka.answer(kind, tmp_path / str(number)), kind.apply()[0])
            for number, kind in enumerate(rows)
        }

    assert answers == {key_of(kind): known[key_of(kind)] for kind in rows}
