"""Test cases of unittest have a broker for each test, and combine with other test cases."""

import asyncio
import unittest
from pathlib import Path

import cordwood
from cordwood import aio
from cordwood.testing import KafkaOptions, KafkaTestCase


def outcome_of(case: type[unittest.TestCase]) -> unittest.TestResult:
    """Run the tests of a class."""
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    return result


def test_each_test_of_a_case_has_its_own_broker() -> None:
    seen: list[str] = []

    class Orders(KafkaTestCase):
        kafka_options = KafkaOptions(config={"num.partitions": 2})

        def test_first(self) -> None:
            with cordwood.Producer(self.kafka.bootstrap) as producer:
                producer.send("orders", b"3 beams")
                seen.append(f"{producer.partition_count('orders')} partitions")
            assert len(self.kafka.records("orders")) == 1

        def test_second(self) -> None:
            seen.append(repr(self.kafka).partition(", ")[2])

    result = outcome_of(Orders)

    assert (result.testsRun, result.errors, result.failures) == (2, [], [])
    assert seen == ["2 partitions", "no topics>"]


def test_case_combines_with_asyncio() -> None:
    class Orders(KafkaTestCase, unittest.IsolatedAsyncioTestCase):
        async def test_order_arrives(self) -> None:
            async with aio.Producer(self.kafka.bootstrap) as producer:
                await (await producer.send("orders", b"3 beams"))
            records = await asyncio.to_thread(self.kafka.records, "orders")
            assert len(records) == 1

    result = outcome_of(Orders)

    assert (result.testsRun, result.errors, result.failures) == (1, [], [])


def test_fault_that_is_not_met_fails_the_test_of_a_case() -> None:
    class Orders(KafkaTestCase):
        def test_fault(self) -> None:
            self.kafka.faults.on("Produce").drop()

    result = outcome_of(Orders)

    ((_, text),) = result.failures + result.errors
    assert "Produce is never answered: no request or call has met this fault" in text


def test_files_on_disk_are_removed_after_the_test() -> None:
    places: list[Path] = []

    class Orders(KafkaTestCase):
        kafka_options = KafkaOptions(files="disk")

        def test_place(self) -> None:
            with cordwood.Admin(self.kafka.bootstrap) as admin:
                places.append(Path(admin.describe_log_dirs(1)[0].path))
            assert places[0].exists()

    result = outcome_of(Orders)

    assert (result.errors, result.failures) == ([], [])
    assert not places[0].exists()
