"""Clients at work on three brokers, of which one is killed, with kill -9, and comes back.

    a feature    all clients do it at once, each at a place of its own; a broker is killed as soon
                 as all have begun, and is started again after the end of its session
    a ledger     all clients produce and consume as members of groups, while each broker is killed
                 once

Kafka's own client of each place sees the results from outside.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Event, Semaphore
from typing import Final, Self

import cordwood
from cordwood.core.errors import GroupIdNotFoundError
from tests.interop.kafka_harness.brokers import Broker
from tests.interop.kafka_harness.client import CannotError, Client, Member, Membership, Sending
from tests.interop.kafka_harness.clients import Maker, Origins
from tests.interop.kafka_harness.conformance import Outcome, topic_of
from tests.interop.kafka_harness.features import NO_CONFIGS, Feature, Place, texts
from tests.interop.kafka_harness.living_consumers import LIVING_CONSUMERS, LivingConsumer
from tests.interop.kafka_harness.oracle import Oracle, OracleRefusalError, seen_records
from tests.interop.kafka_harness.patience import PATIENCE_S, wait_for_result
from tests.robustness.cluster_chaos import PARTITIONS, ClusterProcesses

#: Records of one call of a producer.
CHUNK: Final = 100
_LEDGER: Final = "ledger"
_INTERNAL: Final = ("__consumer_offsets", "__transaction_state")


class ClusterLogs(Broker):
    """The cluster as one broker; the bytes of a partition are those of its longest replica."""

    __slots__ = ("folders",)

    def partition(self, topic: str) -> Path:
        replicas = [each / f"{topic}-0" for each in self.folders]
        return max(replicas, key=lambda each: sum(log.stat().st_size for log in each.glob("*.log")))

    def __init__(self, bootstrap: str, folders: tuple[Path, ...], oracle: Oracle) -> None:
        super().__init__(bootstrap=bootstrap, logs=folders[0], servers=[], oracle=oracle)
        self.folders = folders


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPlace(Place):
    """A place whose topic has three replicas; `on_create` is called once it exists."""

    on_create: Callable[[], object]

    def create(self, partitions: int = 1, configs: Mapping[str, str] = NO_CONFIGS) -> None:
        wait_for_result(lambda: self._has_created(partitions, configs), wanted=True)
        self.on_create()

    def _has_created(self, partitions: int, configs: Mapping[str, str]) -> bool:
        """Create the topic; return False while a broker is down, which is needed as a replica.

        The topic exists already if the controller was killed before its response.
        """
        try:
            Place.create(self, partitions, configs)
        except OracleRefusalError as error:
            if "TopicExistsException" in str(error):
                return True
            if "InvalidReplicationFactorException" not in str(error):
                raise
            return False
        return True

    def at(self, topic: str) -> Place:
        return replace(self, topic=topic, on_create=lambda: None)


@dataclass(slots=True)
class ClientLedger:
    """The values that a client has sent and that its consumer has read, by partition or at all."""

    acknowledged: dict[int, list[bytes]] = field(default_factory=lambda: defaultdict(list))
    consumed: Counter[bytes] = field(default_factory=Counter)
    #: The values of the partitions at the end.
    found: dict[int, list[bytes]] = field(default_factory=dict)
    error: Exception | None = None

    @property
    def sent(self) -> set[bytes]:
        return {value for values in self.acknowledged.values() for value in values}


class ClusterConformance:
    """The clients of one cluster; a feature and the ledgers are run when first asked for."""

    def __init__(
        self,
        processes: ClusterProcesses,
        origins: Origins,
        clients: Mapping[str, Maker],
        chance: random.Random,
    ) -> None:
        self.processes: Final = processes
        self._origins = origins
        self._chance = chance
        self._stack = ExitStack()
        self._clients = {name: make(origins, processes.bootstrap) for name, make in clients.items()}
        self._brokers = {name: self._broker(name) for name in clients}
        self._create_internal_topics()
        self._outcomes = dict[str, dict[str, Outcome]]()
        self._ledgers = dict[str, ClientLedger]()
        self.kills = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for client in self._clients.values():
            client.close()
        self._stack.close()

    def _broker(self, name: str) -> Broker:
        """Return the cluster as a client's witness sees it: witnesses work at the same time."""
        witness = Oracle(self._origins.kafka43_jars, self._origins.folder / f"witness-{name}.txt")
        self._stack.callback(witness.close)
        folders = tuple(each.data[0] for each in self.processes.brokers)
        return ClusterLogs(self.processes.bootstrap, folders, witness)

    def _create_internal_topics(self) -> None:
        """Let the brokers create their internal topics, which needs all of them."""
        bootstrap = self.processes.bootstrap
        with cordwood.Producer(bootstrap, transactional_id="first") as producer:
            producer.init()
        with cordwood.Admin(bootstrap) as admin, suppress(GroupIdNotFoundError):
            admin.describe_groups(["first"])

    # -- features

    def outcome(self, name: str, feature: Feature) -> Outcome:
        """Return the outcome for a client of a feature that all clients have tried at once."""
        if feature.title not in self._outcomes:
            self._outcomes[feature.title] = self._run(feature)
        return self._outcomes[feature.title][name]

    def _run(self, feature: Feature) -> dict[str, Outcome]:
        self._wait_until_whole()
        begun = Semaphore(0)
        with ThreadPoolExecutor(len(self._clients)) as threads:
            tried = {
                name: threads.submit(self._try, name, feature, begun) for name in self._clients
            }
            for _ in self._clients:
                assert begun.acquire(timeout=PATIENCE_S), self.processes.words()
            self._kill(self._chance.randrange(len(self.processes.brokers)))
        return {name: each.result() for name, each in tried.items()}

    def _try(self, name: str, feature: Feature, begun: Semaphore) -> Outcome:
        place = ClusterPlace(
            broker=self._brokers[name],
            # Spark keeps consumers by group and topic: the tests of one broker have other topics.
            topic=f"cluster-{topic_of(name, feature.title)}",
            on_create=begun.release,
        )
        try:
            feature.check(self._clients[name], place)
        except CannotError as error:
            return Outcome(cannot=str(error))
        except Exception as error:  # noqa: BLE001 - stored, and raised by the test
            return Outcome(error=error)
        finally:
            begun.release()
        return Outcome()

    # -- ledgers

    def ledger(self, name: str) -> ClientLedger:
        """Return the ledger of a client."""
        if not self._ledgers:
            self._ledgers = self._keep_ledgers()
        return self._ledgers[name]

    def _keep_ledgers(self) -> dict[str, ClientLedger]:
        self._wait_until_whole()
        ledgers = {name: ClientLedger() for name in self._clients}
        for name in ledgers:
            self.processes.create_topic(topic_of(name, _LEDGER))
        stop = Event()
        with ThreadPoolExecutor(len(ledgers)) as threads:
            for name, ledger in ledgers.items():
                threads.submit(self._keep, name, ledger, stop)
            try:
                for number in range(len(self.processes.brokers)):
                    self._wait_until_whole()
                    self._wait_for_progress(ledgers.values())
                    self._kill(number)
                self._wait_for_progress(ledgers.values())
            finally:
                stop.set()
        return ledgers

    def _wait_for_progress(self, ledgers: Iterable[ClientLedger]) -> None:
        """Wait until each client that goes on has sent more."""
        kept = [*ledgers]
        before = [len(each.sent) for each in kept]
        self.processes.wait_until(
            lambda: all(
                each.error is not None or len(each.sent) > count
                for each, count in zip(kept, before, strict=True)
            )
        )

    def _keep(self, name: str, ledger: ClientLedger, stop: Event) -> None:
        topic = topic_of(name, _LEDGER)
        try:
            with ExitStack() as stack:
                read = self._reader(name, topic, ledger, stack)
                _produce(self._clients[name], topic, ledger, read=read, stop=stop)
                while not ledger.sent <= ledger.consumed.keys():
                    read()
            for partition in ledger.acknowledged:
                ledger.found[partition] = self._values(name, topic, partition)
        except Exception as error:  # noqa: BLE001 - stored, and raised by the test
            ledger.error = error

    def _reader(
        self, name: str, topic: str, ledger: ClientLedger, stack: ExitStack
    ) -> Callable[[], object]:
        """Return a call that lets the client's consumer read on."""
        try:
            member = self._clients[name].join(Membership(group=topic, topic=topic))
        except CannotError:
            bootstrap = self.processes.bootstrap
            living = LIVING_CONSUMERS[name](self._origins, bootstrap, topic, PARTITIONS)
            stack.callback(living.close)
            return partial(_read_living, living, ledger)
        stack.callback(member.leave)
        return partial(_read_member, member, ledger)

    def _values(self, name: str, topic: str, partition: int) -> list[bytes]:
        answer = self._brokers[name].oracle.ask(
            "consume",
            {
                "bootstrap": self.processes.bootstrap,
                "topic": topic,
                "partition": partition,
                "isolation": "read_uncommitted",
            },
        )
        return [each.value for each in seen_records(answer) if each.value is not None]

    # -- kills

    def _kill(self, number: int) -> None:
        """Kill a broker, and start it again after the end of its session."""
        broker = self.processes.brokers[number]
        broker.kill()
        self.processes.wait_until_registered(len(self.processes.brokers) - 1)
        broker.start()
        self.kills += 1

    def _wait_until_whole(self) -> None:
        """Wait until all brokers are there, and their internal topics are in sync."""
        self.processes.wait_until_registered()
        for topic in self.processes.topics().intersection(_INTERNAL):
            self.processes.wait_until_in_sync(topic)


def _produce(
    client: Client,
    topic: str,
    ledger: ClientLedger,
    *,
    read: Callable[[], object],
    stop: Event,
) -> None:
    """Send records to all partitions in turn; each call returns when all are acknowledged."""
    number = 0
    while not stop.is_set():
        records, partition = texts(CHUNK, value=f"value-{number}"), number % PARTITIONS
        client.produce(topic, records, Sending(is_idempotent=True), partition=partition)
        ledger.acknowledged[partition] += [each.value for each in records if each.value]
        read()
        number += 1


def _read_member(member: Member, ledger: ClientLedger) -> None:
    values = member.poll().values
    ledger.consumed.update(values)
    if values:
        member.commit()


def _read_living(living: LivingConsumer, ledger: ClientLedger) -> None:
    seen = living.seen([], 0)
    assert not seen.problem, seen.problem
    ledger.consumed = Counter(value.encode() for _, value in seen.values)
