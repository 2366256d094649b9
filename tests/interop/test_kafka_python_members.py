"""Members of kafka-python while responses are late: the driver has to meet a defect of the client.

A join whose cause is changed metadata is forgotten when `poll` returns before the response to
SyncGroup. The member then sends no heartbeat, and stays outside of its group for good, with Kafka
too. A first join without metadata is followed by such a join.
"""

from collections.abc import Callable

import pytest

from cordwood.testing.kafka_fixture import Kafka
from cordwood.testing.proxy.kafka_proxy import KafkaProxy
from tests.interop.kafka_harness.client import Membership
from tests.interop.kafka_harness.group_features import PARTITIONS, Polls
from tests.interop.kafka_harness.installed import peer

peer("kafka")

from tests.interop.kafka_harness.kafka_python_members import KafkaPythonMember  # noqa: E402  # it imports kafka-python

pytestmark = [pytest.mark.interop, pytest.mark.timeout(180)]


def test_member_has_its_partitions_although_metadata_and_assignments_are_late(
    kafka: Kafka, kafka_proxy: Callable[[str], KafkaProxy]
) -> None:
    kafka.create_topic("orders", partitions=PARTITIONS)
    proxy = kafka_proxy(kafka.bootstrap)
    # The first response has the brokers alone; `poll` returns after 0.1 s.
    proxy.faults.on("Metadata", first=2).delay(seconds=0.5)
    proxy.faults.on("SyncGroup", times=None).delay(seconds=0.3)

    member = KafkaPythonMember(proxy.bootstrap, Membership(group="g", topic="orders"))
    try:
        Polls(member).until_shared(PARTITIONS)
    finally:
        member.leave()
