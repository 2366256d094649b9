"""The pytest plugin is cheap to load, and its fixtures work."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from cordwood.testing import Kafka
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.virtual_clock import VirtualClock


@pytest.fixture
def loaded() -> set[str]:
    """Return the modules that the plugin loads into a process with pytest."""
    code = (
        "import sys, pytest; before = set(sys.modules);"
        "import cordwood.testing.plugin; print(*(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_plugin_imports_itself_alone_when_pytest_starts(loaded: set[str]) -> None:
    assert loaded == {"cordwood", "cordwood.testing", "cordwood.testing.plugin"}


def test_plugin_has_a_clock_fixture(virtual_clock: VirtualClock) -> None:
    assert isinstance(virtual_clock, VirtualClock)


def test_plugin_has_a_files_fixture(memory_files: MemoryFiles, virtual_clock: VirtualClock) -> None:
    assert isinstance(memory_files, MemoryFiles)
    assert memory_files.clock is virtual_clock


def run_tests(folder: Path, files: Mapping[str, str]) -> str:
    """Run tests in a project of their own, and return what pytest prints."""
    for name, text in {"pytest.ini": "[pytest]\n", **files}.items():
        (folder / name).write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "--strict-markers"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout


#: Statements of a test, with the error that pytest shows.
MISTAKES: Final = {
    'kafka.records("nope")': "the broker has no topic 'nope'; it has none",
    'kafka.create_topic("orders"); kafka.records("ordres")': "did you mean 'orders'?",
    'kafka.create_topic("orders"); kafka.records("orders", partition=4)': "it has 0 to 0",
    'kafka.create_topic("orders", retension_ms=1)': "did you mean retention.ms?",
    'kafka.faults.on("produce")': "unknown API 'produce'; did you mean Produce?",
    'kafka.faults.on("find_coordinator")': "did you mean FindCoordinator?",
    'kafka.faults.on("xyz")': "give Kafka's name of it, such as Produce, Fetch or Metadata",
    "kafka.clock.advance(2)": "2 has no unit; write advance(seconds=2), or give a timedelta",
    "kafka.clock.advance(hour=1)": "hour is not a unit of time; choose from days, hours,",
    'kafka.faults.on("Produce").drop()': "Produce is never answered: no request or call has",
    'with kafka.faults.on("Fetch").drop(): pass': "Fetch is never answered: no request or call has",
    "kafka_broker(configs={})": "kafka_broker has no argument 'configs'; did you mean config?",
}
#: Arguments of the mark, with the error that pytest shows.
MARKS: Final = {
    "partitions=3": "has no argument 'partitions'; give it to kafka.create_topic, or config=",
    "autocreate=False": "has no argument 'autocreate'; did you mean auto_create?",
    "files='dsk'": "files='dsk'; choose one of memory, disk",
    "{'num.partitions': 1}": "takes no argument without a name ({'num.partitions': 1})",
    "config={'num.partition': 1}": "setting num.partition is unknown; did you mean num.partitions?",
}


def test_mistake_in_a_test_is_shown_without_frames_of_cordwood(tmp_path: Path) -> None:
    bodies = [
        f"def test_{number}(kafka, kafka_broker):\n    {statement}\n"
        for number, statement in enumerate(MISTAKES)
    ]
    marked = [
        f"@pytest.mark.kafka({arguments})\ndef test_mark_{number}(kafka): pass\n"
        for number, arguments in enumerate(MARKS)
    ]

    shown = run_tests(tmp_path, {"test_it.py": "\n".join(["import pytest", *bodies, *marked])})

    for text in (*MISTAKES.values(), *MARKS.values()):
        assert text in shown
    assert "cordwood/" not in shown
    assert "During handling" not in shown
    assert "11 failed, 1 passed, 6 errors" in shown


def test_brokers_of_a_module_and_of_a_session_are_shared(tmp_path: Path) -> None:
    conftest = """
import pytest
from cordwood.testing import KafkaOptions

@pytest.fixture(scope="session")
def kafka_options():
    return KafkaOptions(config={"num.partitions": 3}, files="disk")
"""
    first = """
import cordwood, pytest

pytestmark = pytest.mark.kafka(config={"num.partitions": 2})

def partitions(kafka):
    with cordwood.Admin(kafka.bootstrap) as admin:
        admin.create_topic("orders")
        return len(admin.describe_topics(["orders"])[0].partitions)

def test_module(kafka_module): assert partitions(kafka_module) == 2
def test_session(kafka_session): assert partitions(kafka_session) == 3
def test_again(kafka_module, kafka_session, kafka, cordwood_kafka):
    assert kafka_module.records("orders") == kafka_session.records("orders") == []
    assert cordwood_kafka is kafka
    assert len({each.bootstrap for each in (kafka_module, kafka_session, kafka)}) == 3
"""
    second = """
from cordwood.testing import Kafka

def test_other_module(kafka_module: Kafka, kafka_session: Kafka):
    kafka_module.create_topic("orders")
    assert kafka_session.records("orders") == []
"""

    files = {"conftest.py": conftest, "test_first.py": first, "test_second.py": second}
    shown = run_tests(tmp_path, files)

    assert "4 passed" in shown, shown


def test_broker_has_a_name_that_no_package_has(kafka: Kafka, cordwood_kafka: Kafka) -> None:
    assert cordwood_kafka is kafka
