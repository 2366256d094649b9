"""Fault injection for one broker: faults of its requests, and of its disk.

    faults.on("Produce", topic="orders").fail(NotLeaderOrFollowerError)
    faults.on("Fetch", first=2, times=3).delay(seconds=0.5)
    faults.on("Produce").drop(handled=True)          handled, and the response is lost
    faults.on("Metadata").close()
    faults.on_disk("pwrite", path="*/orders-0/*").fill()

A fault is armed until its test ends or, as a context manager, until its block ends. A request meets
the first armed fault that matches; each fault counts its matching requests from the time it was
armed. While a fault of Fetch is armed, fetch sessions are disabled, so that every fetch lists its
partitions.

`times=None` stands for every request from the first one on. A fault that fewer requests than
`times` have met by its end, or none, raises FaultNotMetError: the test did not cover it. Faults are
armed on the test's thread; requests meet them on the broker's.
"""

import errno
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from difflib import get_close_matches
from typing import Final, Protocol, Self, TypeAlias

from cordwood.broker.network.connection import Handle
from cordwood.broker.network.request_context import RequestContext
from cordwood.core.errors import KafkaError
from cordwood.core.ports import Clock, Scheduler
from cordwood.core.uuids import Uuid
from cordwood.protocol.apis import APIS, api_of
from cordwood.protocol.schema import Request
from cordwood.testing.error_responses import topics_of
from cordwood.testing.file_faults import FaultScript, FileFault
from cordwood.testing.request_faults import (
    FaultAction,
    PendingRequest,
    ResponseChunks,
    closed,
    delayed,
    dropped,
    forget_session,
    is_incremental,
    refused,
)

NameOf: TypeAlias = Callable[[str | Uuid], str | None]
"""Returns the name of a topic that a request names, or identifies by its id."""

_APIS: Final = frozenset(api.name for api in APIS.values())


class FaultNotMetError(AssertionError):
    """A fault was armed, and fewer requests or calls than planned have met it.

    Remedy: correct the name of the API or the topic, or plan the fault with `times=None`.
    """


def ensure_api(api: str) -> None:
    """Raise ValueError for an unknown name of an API, with the nearest known one."""
    __tracebackhide__ = True
    if api in _APIS:
        return
    by_words = {name.casefold(): name for name in sorted(_APIS)}
    words = re.sub(r"[\W_]|request$", "", api.casefold())
    near = get_close_matches(words, by_words, n=1)
    remedy = (
        f"did you mean {by_words[near[0]]}?"
        if near
        else "give Kafka's name of it, such as Produce, Fetch or Metadata"
    )
    raise ValueError(f"unknown API {api!r}; {remedy}")


def last_of(first: int, times: int | None) -> int:
    """Return the number of the last request that a fault affects."""
    return sys.maxsize - 1 if times is None else first + times - 1


class RequestFault:
    """Fault of `times` of the matching requests, counted from 1; None affects all from `first`."""

    def __init__(self, api: str, topic: str | None, *, first: int, times: int | None) -> None:
        self.api = api
        self.met = 0
        self.times = times
        self.action: FaultAction | None = None
        self._topic = topic
        self._hits = range(first, last_of(first, times) + 1)
        self._matched = 0

    @property
    def is_waiting(self) -> bool:
        """Whether an action is set, and requests are still to be affected."""
        return self.action is not None and self.met < len(self._hits)

    def is_met_by(self, request: Request, name_of: NameOf) -> bool:
        """Count a request of the API, and return whether the fault affects it."""
        if self._topic is not None and self._topic not in map(name_of, topics_of(request)):
            return False
        self._matched += 1
        is_met = self._matched in self._hits
        self.met += is_met
        return is_met


class _CountedFault(Protocol):
    """A fault that counts its affected requests or calls."""

    @property
    def met(self) -> int:
        """Count of affected requests or calls."""


class ArmedFault:
    """An armed fault; as a context manager it ends with its block, and must be met by then.

    It must be met `times` times, or once for None.
    """

    def __init__(
        self,
        description: str,
        fault: _CountedFault,
        *,
        times: int | None,
        end: Callable[["ArmedFault"], None],
    ) -> None:
        self._description = description
        self._fault = fault
        self._times = times
        self._end = end

    def __repr__(self) -> str:
        return f"<{self._description}: met {self.met} times>"

    @property
    def met(self) -> int:
        """Count of affected requests or calls."""
        return self._fault.met

    def end(self) -> None:
        """Disarm the fault."""
        self._end(self)

    def ensure_met(self) -> None:
        """Raise FaultNotMetError if fewer requests or calls than planned have met the fault."""
        __tracebackhide__ = True
        if not self.met:
            raise FaultNotMetError(
                f"{self._description}: no request or call has met this fault; remove it, or make "
                "the test cause one"
            )
        if self._times is not None and self.met < self._times:
            raise FaultNotMetError(
                f"{self._description}: met {self.met} of {self._times} times; "
                "plan fewer, or times=None for any number"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        __tracebackhide__ = True
        self.end()
        if kind is None:
            self.ensure_met()


class BrokerFaults:
    """Faults of one broker; `around` wraps the handler of its requests."""

    def __init__(
        self, disk: FaultScript | None, *, clock: Clock, scheduler: Scheduler, name_of: NameOf
    ) -> None:
        self.clock = clock
        self.scheduler = scheduler
        self._disk = disk
        self._name_of = name_of
        self._requests: tuple[RequestFault, ...] = ()
        self._armed: list[ArmedFault] = []

    def __repr__(self) -> str:
        return f"<BrokerFaults: {', '.join(map(repr, self._armed)) or 'none'}>"

    def on(
        self, api: str, *, topic: str | None = None, first: int = 1, times: int | None = 1
    ) -> "RequestFaultBuilder":
        """Select requests by Kafka's name of their API, and optionally by a topic they name."""
        __tracebackhide__ = True
        ensure_api(api)
        words = f"{api} of {topic}" if topic else api
        return RequestFaultBuilder(self, RequestFault(api, topic, first=first, times=times), words)

    def on_disk(
        self, call: str = "pwrite", *, path: str = "*", first: int = 1, times: int | None = 1
    ) -> "DiskFaultBuilder":
        """Select calls of the Files port; `call` and `path` are shell patterns."""
        if self._disk is None:
            raise ValueError("disk faults need files in memory; this broker's files are on disk")
        most = last_of(first, times) - first + 1
        fault = FileFault(on=call, path=path, first=first, times=most)
        return DiskFaultBuilder(self, fault, times)

    def clear(self) -> None:
        """Disarm all faults; FaultNotMetError if one was not met as planned."""
        __tracebackhide__ = True
        ended = tuple(self._armed)
        for armed in ended:
            armed.end()
        for armed in ended:
            armed.ensure_met()

    def around(self, handle: Handle) -> Handle:
        """Return a handler that applies faults before it calls the broker's."""

        async def answer(context: RequestContext, body: memoryview) -> ResponseChunks:
            pending = PendingRequest(context, body, handle)
            action = self._action_for(pending)
            return await (action(pending) if action else pending.respond())

        return answer

    # -- for the builders

    def arm_request_fault(self, fault: RequestFault, description: str) -> ArmedFault:
        """Arm a fault of requests."""
        self._requests = (*self._requests, fault)

        def end(armed: ArmedFault) -> None:
            self._requests = tuple(each for each in self._requests if each is not fault)
            self._armed.remove(armed)

        return self._arm(ArmedFault(description, fault, times=fault.times, end=end))

    def arm_disk_fault(
        self, fault: FileFault, description: str, *, times: int | None
    ) -> ArmedFault:
        """Arm a fault of disk calls."""
        disk = self._disk
        assert disk is not None, "on_disk checks it"
        met = disk.add(fault)

        def end(armed: ArmedFault) -> None:
            disk.remove(met)
            self._armed.remove(armed)

        return self._arm(ArmedFault(description, met, times=times, end=end))

    def _arm(self, armed: ArmedFault) -> ArmedFault:
        self._armed.append(armed)
        return armed

    def _action_for(self, pending: PendingRequest) -> FaultAction | None:
        """Return the action for a request; every fault of its API counts it."""
        api = api_of(pending.context.api_key).name
        waiting = [each for each in self._requests if each.api == api and each.is_waiting]
        if not waiting:
            return None
        request = pending.read()
        if is_incremental(request):
            return forget_session
        met = [each.action for each in waiting if each.is_met_by(request, self._name_of)]
        return met[0] if met else None


class RequestFaultBuilder:
    """Selected requests; a method chooses their fault and arms it."""

    def __init__(self, faults: BrokerFaults, fault: RequestFault, words: str) -> None:
        self._faults = faults
        self._fault = fault
        self._words = words

    def __repr__(self) -> str:
        return f"<{self._words}: not armed; call fail, delay, drop or close>"

    def fail(self, error: type[KafkaError] | KafkaError) -> ArmedFault:
        """Respond with an error, without handling the request."""
        raised = error("injected by the test") if isinstance(error, type) else error
        return self._arm(refused(raised), f"fails with {type(raised).__name__}")

    def delay(self, *, seconds: float = 0, ms: float = 0) -> ArmedFault:
        """Handle the request after a pause of real time."""
        late_ms = seconds * 1000 + ms
        faults = self._faults
        act = delayed(late_ms, clock=faults.clock, scheduler=faults.scheduler)
        return self._arm(act, f"is {late_ms:g} ms late")

    def drop(self, *, handled: bool = False) -> ArmedFault:
        """Send no response; with `handled`, handle the request first."""
        return self._arm(dropped(handled=handled), "is never answered")

    def close(self, *, handled: bool = False) -> ArmedFault:
        """Close the connection instead of a response; with `handled`, handle the request first."""
        return self._arm(closed(handled=handled), "closes its connection")

    def _arm(self, action: FaultAction, what: str) -> ArmedFault:
        self._fault.action = action
        return self._faults.arm_request_fault(self._fault, f"{self._words} {what}")


class DiskFaultBuilder:
    """Selected disk calls; a method chooses their fault and arms it."""

    def __init__(self, faults: BrokerFaults, fault: FileFault, times: int | None) -> None:
        self._faults = faults
        self._fault = fault
        self._times = times

    def __repr__(self) -> str:
        return f"<{self._fault.on} of {self._fault.path}: not armed; call fail, fill or tear>"

    def fail(self, code: int = errno.EIO) -> ArmedFault:
        """Raise an OSError with the code, without any effect."""
        return self._arm(replace(self._fault, code=code), f"fails with {errno.errorcode[code]}")

    def fill(self) -> ArmedFault:
        """Raise ENOSPC."""
        return self.fail(errno.ENOSPC)

    def tear(self, *, kept: int) -> ArmedFault:
        """Fail writes after `kept` of their bytes are in the file."""
        return self._arm(replace(self._fault, kept=kept), f"is torn after {kept} bytes")

    def _arm(self, fault: FileFault, what: str) -> ArmedFault:
        words = f"{fault.on} of {fault.path} {what}"
        return self._faults.arm_disk_fault(fault, words, times=self._times)
