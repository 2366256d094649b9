"""Unmodified clients and ours on three brokers, of which one is killed and comes back.

Each feature of the conformance page that needs no particular broker is done by all clients at once,
while a broker is killed. Then all clients produce and consume while each broker is killed once.
"""

import gc
import os
import random
import socket
from collections.abc import Callable, Iterator
from typing import Final

import pytest

from tests.interop.kafka_harness.clients import ALL_CLIENTS, Origins
from tests.interop.kafka_harness.cluster_conformance import ClusterConformance
from tests.interop.kafka_harness.feature_table import FEATURES
from tests.interop.kafka_harness.features import Feature
from tests.interop.kafka_harness.installed import made
from tests.robustness.cluster_chaos import SETTINGS, cluster

SOAK: Final = bool(os.environ.get("CORDWOOD_SOAK"))
pytestmark = [
    pytest.mark.interop,
    pytest.mark.timeout(3600 if SOAK else 900),
    # kafka-python does not close the sockets of connections that were refused.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SEED: Final = 22
_IN_CI: Final = (
    "Java 4.3",
    "confluent-kafka",
    "kafka-python",
    "franz-go",
    "spark-sql-kafka",
    "cordwood",
)
CLIENTS: Final = {name: make for name, make in ALL_CLIENTS.items() if SOAK or name in _IN_CI}
#: Features whose results do not depend on a broker that is away. The others send without
#: idempotence, need all replicas for a new topic, or name the brokers.
_ROWS: Final = {
    "idempotent producer": True,
    "consume from an offset": False,
    "offsets: earliest, latest, by time": False,
    "subscribe as a member of a group": True,
    "committed offsets, resumed after a restart": False,
    "members share partitions, and take over": True,
    "the same with the new protocol (KIP-848)": True,
    "cooperative rebalancing": False,
    "a static member returns": True,
    "a static member of the new protocol returns": False,
    "groups listed, described, deleted": False,
    "offsets of a group shown and changed": False,
    "only committed records read": False,
    "transactions committed and aborted": True,
    "consume, transform, produce in a transaction": True,
    "a zombie fenced by its successor": True,
}
ROWS: Final = [each for each in FEATURES if _ROWS.get(each.title) or (SOAK and each.title in _ROWS)]
SESSION_MS: Final = 3_000
QUICK: Final = {
    **SETTINGS,
    "zookeeper.session.timeout.ms": str(SESSION_MS),
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "100",
    "log.message.timestamp.before.max.ms": "9223372036854775807",
    "log.message.timestamp.after.max.ms": "9223372036854775807",
    "log.retention.ms": "-1",
    "log.cleaner.enable": "false",
}


@pytest.fixture(scope="module", autouse=True)
def closed_sockets() -> Iterator[None]:
    """Close the sockets that kafka-python has left; a test of another file would fail for them."""
    yield
    for each in gc.get_objects():
        if type(each) is socket.socket and each.fileno() >= 0 and is_refused(each):
            each.close()


def is_refused(left: socket.socket) -> bool:
    """Return whether a socket has never been connected, and does not listen."""
    try:
        left.getpeername()
    except OSError:
        return left.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 0
    return False


@pytest.fixture(scope="module")
def conformance(
    origins: Origins, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ClusterConformance]:
    folder = tmp_path_factory.mktemp("cluster")
    with cluster(folder, QUICK) as processes:
        of_clients = made(
            lambda: ClusterConformance(processes, origins, CLIENTS, random.Random(SEED))
        )
        with of_clients:
            yield of_clients


@pytest.mark.parametrize("feature", ROWS, ids=lambda feature: feature.title)
@pytest.mark.parametrize("client", CLIENTS)
def test_client_has_its_result_while_a_broker_is_killed(
    conformance: ClusterConformance, client: str, feature: Feature
) -> None:
    outcome = conformance.outcome(client, feature)

    if outcome.error is not None:
        raise outcome.error


@pytest.mark.parametrize("client", CLIENTS)
def test_acknowledged_records_are_there_once_and_consumers_go_on(
    conformance: ClusterConformance, client: str, report: Callable[[str], None]
) -> None:
    ledger = conformance.ledger(client)

    if ledger.error is not None:
        raise ledger.error
    report(f"{client}: {len(ledger.sent)} records, {conformance.kills} kills")
    assert ledger.found == ledger.acknowledged
    assert set(ledger.consumed) == ledger.sent
    assert max(ledger.consumed.values()) == 1
