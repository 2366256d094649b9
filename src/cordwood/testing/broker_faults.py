"""What goes wrong between a broker and its clients, and with its disk: a script of sentences.

    faults.on("Produce", topic="orders").fail(NotLeaderOrFollowerError)
    faults.on("Fetch", first=2, times=3).delay(seconds=0.5)
    faults.on("Produce").drop(handled=True)          done, and the answer is lost on its way
    faults.on("Metadata").close()
    faults.on_disk("pwrite", path="*/orders-0/*").fill()

A fault is planned until its test ends or, used as a context, until the block does. A request meets
the first fault that waits for it; each counts the requests that match it from when it was planned.
While a fault of Fetch waits, readers have no sessions: what they ask for is always named.

A planned fault that nothing has met by its end is a FaultNotMetError: the test did not test what it
says. Sentences are written on the test's thread; requests meet them on the broker's.
"""

import errno
from collections.abc import Callable
from dataclasses import replace
from typing import Final, Protocol, Self, TypeAlias

from cordwood.broker.connection import Handle
from cordwood.broker.network import Network
from cordwood.broker.request import RequestContext
from cordwood.core.errors import KafkaError
from cordwood.core.ids import Uuid
from cordwood.protocol.apis import APIS, api_of
from cordwood.protocol.schema import Request
from cordwood.testing.faults import Fault, FaultScript
from cordwood.testing.refusal import topics_of
from cordwood.testing.request_faults import (
    Act,
    Answer,
    Asked,
    closed,
    delayed,
    dropped,
    forget_session,
    is_incremental,
    refused,
)

NameOf: TypeAlias = Callable[[str | Uuid], str | None]
"""What a topic is called that a request speaks of by name or by id."""

_APIS: Final = frozenset(api.name for api in APIS.values())


class FaultNotMetError(AssertionError):
    """A fault was planned, and what it is about has not happened."""


class RequestFault:
    """What becomes of those requests that are the `first` and following of their kind."""

    def __init__(self, api: str, topic: str | None, hits: range) -> None:
        self.api = api
        self.met = 0
        self.act: Act | None = None
        self._topic = topic
        self._hits = hits
        self._matched = 0

    @property
    def is_waiting(self) -> bool:
        """Whether it has been said what happens, and it has not happened often enough."""
        return self.act is not None and self.met < len(self._hits)

    def is_met_by(self, request: Request, name_of: NameOf) -> bool:
        """Count a request of the API, and say whether it is one of those."""
        if self._topic is not None and self._topic not in map(name_of, topics_of(request)):
            return False
        self._matched += 1
        is_met = self._matched in self._hits
        self.met += is_met
        return is_met


class _Met(Protocol):
    """What counts how often it has been met."""

    @property
    def met(self) -> int:
        """How often."""


class Planned:
    """A sentence of the script; as a context it ends with its block, and has to be met by then."""

    def __init__(self, says: str, fault: _Met, *, end: Callable[["Planned"], None]) -> None:
        self._says = says
        self._fault = fault
        self._end = end

    def __repr__(self) -> str:
        return f"<{self._says}: met {self.met} times>"

    @property
    def met(self) -> int:
        """How often it has happened."""
        return self._fault.met

    def end(self) -> None:
        """Let it happen no more."""
        self._end(self)

    def ensure_met(self) -> None:
        """Raise FaultNotMetError if it has not happened."""
        if not self.met:
            raise FaultNotMetError(f"{self._says}: planned, and never met")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.end()
        if kind is None:
            self.ensure_met()


class BrokerFaults:
    """The script of one broker. `around` is laid around what answers its requests."""

    def __init__(self, network: Network, disk: FaultScript | None, *, name_of: NameOf) -> None:
        self.network = network
        self._disk = disk
        self._name_of = name_of
        self._requests: tuple[RequestFault, ...] = ()
        self._planned: list[Planned] = []

    def on(
        self, api: str, *, topic: str | None = None, first: int = 1, times: int = 1
    ) -> "OnRequest":
        """Begin a sentence about requests, by Kafka's name of their API, that name the topic."""
        if api not in _APIS:
            raise ValueError(f"no API is called {api!r}; they are {', '.join(sorted(_APIS))}")
        words = f"{api} of {topic}" if topic else api
        return OnRequest(self, RequestFault(api, topic, range(first, first + times)), words)

    def on_disk(
        self, call: str = "pwrite", *, path: str = "*", first: int = 1, times: int = 1
    ) -> "OnDisk":
        """Begin a sentence about calls of the files port; `call` and `path` are shell patterns."""
        if self._disk is None:
            raise ValueError("only files in memory fail; this broker's are on the disk")
        return OnDisk(self, Fault(on=call, path=path, first=first, times=times))

    def clear(self) -> None:
        """Let nothing happen any more; FaultNotMetError if something that was planned has not."""
        ended = tuple(self._planned)
        for planned in ended:
            planned.end()
        for planned in ended:
            planned.ensure_met()

    def around(self, handle: Handle) -> Handle:
        """Return what lets requests meet their faults on the way to the broker."""

        async def answer(context: RequestContext, body: memoryview) -> Answer:
            asked = Asked(context, body, handle)
            act = self._act_for(asked)
            return await (act(asked) if act else asked.answer())

        return answer

    # -- for sentences

    def plan_request(self, fault: RequestFault, says: str) -> Planned:
        """Let requests meet this fault from now on."""
        self._requests = (*self._requests, fault)

        def end(planned: Planned) -> None:
            self._requests = tuple(each for each in self._requests if each is not fault)
            self._planned.remove(planned)

        return self._plan(Planned(says, fault, end=end))

    def plan_on_disk(self, fault: Fault, says: str) -> Planned:
        """Let calls of the files meet this fault from now on."""
        disk = self._disk
        assert disk is not None, "on_disk has looked"
        met = disk.add(fault)

        def end(planned: Planned) -> None:
            disk.remove(met)
            self._planned.remove(planned)

        return self._plan(Planned(says, met, end=end))

    def _plan(self, planned: Planned) -> Planned:
        self._planned.append(planned)
        return planned

    def _act_for(self, asked: Asked) -> Act | None:
        """Return what a request meets; every fault of its API counts it."""
        api = api_of(asked.context.api_key).name
        waiting = [each for each in self._requests if each.api == api and each.is_waiting]
        if not waiting:
            return None
        request = asked.read()
        if is_incremental(request):
            return forget_session
        met = [each.act for each in waiting if each.is_met_by(request, self._name_of)]
        return met[0] if met else None


class OnRequest:
    """The beginning of a sentence about requests: what happens to them ends it."""

    def __init__(self, faults: BrokerFaults, fault: RequestFault, words: str) -> None:
        self._faults = faults
        self._fault = fault
        self._words = words

    def fail(self, error: type[KafkaError] | KafkaError) -> Planned:
        """Answer with an error, and do nothing of what is asked."""
        raised = error("planned by the test") if isinstance(error, type) else error
        return self._plan(refused(raised), f"fails with {type(raised).__name__}")

    def delay(self, *, seconds: float = 0, ms: float = 0) -> Planned:
        """Begin with the request so much later, by real time."""
        late_ms = seconds * 1000 + ms
        return self._plan(delayed(late_ms, self._faults.network), f"is {late_ms:g} ms late")

    def drop(self, *, handled: bool = False) -> Planned:
        """Never answer; `handled`, it is done all the same."""
        return self._plan(dropped(handled=handled), "is never answered")

    def close(self, *, handled: bool = False) -> Planned:
        """End the connection instead of answering; `handled`, it is done all the same."""
        return self._plan(closed(handled=handled), "ends its connection")

    def _plan(self, act: Act, what: str) -> Planned:
        self._fault.act = act
        return self._faults.plan_request(self._fault, f"{self._words} {what}")


class OnDisk:
    """The beginning of a sentence about the disk: what happens to calls ends it."""

    def __init__(self, faults: BrokerFaults, fault: Fault) -> None:
        self._faults = faults
        self._fault = fault

    def fail(self, code: int = errno.EIO) -> Planned:
        """Let calls end in an error of the system, and do nothing."""
        return self._plan(replace(self._fault, code=code), f"fails with {errno.errorcode[code]}")

    def fill(self) -> Planned:
        """Let there be no space left."""
        return self.fail(errno.ENOSPC)

    def tear(self, *, kept: int) -> Planned:
        """Let writes fail of which so many bytes are in the file all the same."""
        return self._plan(replace(self._fault, kept=kept), f"is torn after {kept} bytes")

    def _plan(self, fault: Fault, what: str) -> Planned:
        return self._faults.plan_on_disk(fault, f"{fault.on} of {fault.path} {what}")
