"""Every client against every feature, each pair once however many tests ask for it.

The page `docs/conformance.md` is made of what ran. A client that lacks a call is shown as such,
with the reason; anything else that goes wrong is a failure, of which no page is made.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.interop.kafka_harness.brokers import Broker
from tests.interop.kafka_harness.client import CannotError, Client
from tests.interop.kafka_harness.clients import CLIENTS, Origins
from tests.interop.kafka_harness.feature_table import FEATURES
from tests.interop.kafka_harness.features import Feature, Place

INTRODUCTION = """\
# Conformance
Unmodified clients against `cordwood serve`, on real files and a real socket. A run of
`tests/interop/test_clients.py` writes this page into `build/conformance.md` and holds this copy of
it against what ran; `make soak` puts the same clients through the same against Apache Kafka 4.3.
`tests/interop/test_clients_on_a_cluster.py` repeats a part of it on three brokers, one of which is
killed during each feature; `make soak` repeats more, with all clients.

A feature counts when the client has done it and Kafka's own client sees the same from outside.
Features of batches (codecs, the idempotent producer) are read from the broker's disk by Kafka's own
classes. A dash: the client has no such call; below the table is why.
"""


def topic_of(name: str, title: str) -> str:
    """Return the topic of a client's feature."""
    return "-".join(re.findall(r"[a-z0-9.]+", f"{name} {title}".lower()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of a feature: neither reason nor error on success."""

    cannot: str | None = None
    error: Exception | None = None


@dataclass(slots=True, kw_only=True)
class Conformance:
    """A broker and another that makes topics on first use, with clients made when needed."""

    broker: Broker
    creating_broker: Broker
    origins: Origins
    _clients: dict[tuple[str, str], Client] = field(default_factory=dict)
    _outcomes: dict[tuple[str, str], Outcome] = field(default_factory=dict)

    def client(self, name: str, bootstrap: str) -> Client:
        key = (name, bootstrap)
        if key not in self._clients:
            self._clients[key] = CLIENTS[name](self.origins, bootstrap)
        return self._clients[key]

    def outcome(self, name: str, feature: Feature) -> Outcome:
        key = (name, feature.title)
        if key not in self._outcomes:
            self._outcomes[key] = self._run(name, feature)
        return self._outcomes[key]

    def place(self, name: str, title: str, *, creates_topics: bool = False) -> Place:
        """Where a client does what has this title."""
        broker = self.creating_broker if creates_topics else self.broker
        return Place(broker=broker, topic=topic_of(name, title))

    def _run(self, name: str, feature: Feature) -> Outcome:
        place = self.place(name, feature.title, creates_topics=feature.creates_topics)
        client = self.client(name, place.broker.bootstrap)
        try:
            feature.check(client, place)
        except CannotError as error:
            return Outcome(cannot=str(error))
        except Exception as error:  # noqa: BLE001 - stored, and raised by the test
            return Outcome(error=error)
        return Outcome()

    def close(self) -> None:
        for client in self._clients.values():
            client.close()

    def page(self) -> str:
        """The whole page."""
        return "\n".join((INTRODUCTION, *self._versions(), *self._table(), *self._reasons())) + "\n"

    def _versions(self) -> Iterator[str]:
        yield "| client | version |"
        yield "|---|---|"
        for name in CLIENTS:
            yield f"| {name} | {self.client(name, self.broker.bootstrap).version()} |"
        yield ""

    def _table(self) -> Iterator[str]:
        yield f"| | {' | '.join(CLIENTS)} |"
        yield f"|---|{':-:|' * len(CLIENTS)}"
        for feature in FEATURES:
            marks = [self._mark(name, feature) for name in CLIENTS]
            yield f"| {feature.title} | {' | '.join(marks)} |"
        yield ""

    def _mark(self, name: str, feature: Feature) -> str:
        outcome = self.outcome(name, feature)
        if outcome.error is not None:
            raise outcome.error
        return "-" if outcome.cannot else "yes"

    def _reasons(self) -> Iterator[str]:
        for name in CLIENTS:
            reasons = {self.outcome(name, feature).cannot: None for feature in FEATURES}
            said = " ".join(f"{reason[0].upper()}{reason[1:]}." for reason in reasons if reason)
            if said:
                yield f"- {name}: {said}"
