"""Test cases of unittest, and of frameworks on it, with a broker for each test."""

import unittest
from dataclasses import replace
from tempfile import TemporaryDirectory
from typing import ClassVar

from cordwood.testing.kafka_fixture import Kafka
from cordwood.testing.kafka_options import KafkaOptions


class KafkaTestCase(unittest.TestCase):
    """A test case whose tests have a broker each, as `self.kafka`.

    It is combined with other test cases by inheritance: `class Orders(KafkaTestCase,
    unittest.IsolatedAsyncioTestCase)`, or `class Orders(KafkaTestCase, django.test.TestCase)`.

    >>> class Orders(KafkaTestCase):
    ...     kafka_options = KafkaOptions(config={"num.partitions": 2})
    ...
    ...     def test_order_arrives(self):
    ...         with cordwood.Producer(self.kafka.bootstrap) as producer:
    ...             producer.send("orders", b"3 beams")
    ...         self.assertEqual(len(self.kafka.records("orders")), 1)
    """

    #: Options of the brokers of this class.
    kafka_options: ClassVar[KafkaOptions] = KafkaOptions()

    kafka: Kafka

    def setUp(self) -> None:
        """Start the broker of a test; its planned faults have to be met by the end of the test."""
        super().setUp()
        options = self.kafka_options
        if options.is_on_disk and options.directory is None:
            folder = TemporaryDirectory(prefix="kafka-logs-")
            self.addCleanup(folder.cleanup)
            options = replace(options, directory=folder.name)
        self.kafka = Kafka.start(options)
        self.addCleanup(self.kafka.close)
