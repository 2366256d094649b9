"""Network faults of a proxy: planned by API or connection, or by seeded chance.

    faults.on("Produce").close(handled=True)          written, and the connection is cut
    faults.on("Fetch", first=2, times=3).delay(seconds=0.5)
    faults.on("Metadata").swallow()                   this response is missing, the next one comes
    faults.on("Produce").drop()                       the connection hangs from this request on
    faults.on("Fetch").trickle(piece_bytes=100, pause_ms=10)
    faults.on("Fetch").rewrite(change)                the decoded response is changed
    faults.on_connect(times=3).refuse()               closed at once
    faults.on_connect().hang()                        accepted, and never answered
    faults.at_random(FaultRates(close=0.02, delay=0.1), seed=7)

A request meets the first armed fault that matches, else one by chance. A fault is armed until the
proxy ends or, as a context manager, until its block ends. `times=None` stands for every request
from the first one on. A planned fault that fewer requests than `times` have met by its end, or
none, raises FaultNotMetError. `counts` has the number of injected faults by kind.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Final, NamedTuple

from cordwood.core.ports import Random
from cordwood.protocol.apis import APIS
from cordwood.protocol.schema import Response
from cordwood.testing.broker_faults import ArmedFault, last_of
from cordwood.testing.seeded_random import SeededRandom

_APIS: Final = frozenset(api.name for api in APIS.values())
#: Distance of the seeds of two connections; each has its own chance.
_SEED_STEP: Final = 1_000_003


class FaultKind(StrEnum):
    """Effect of a fault; `refuse` and `hang` are faults of connections, all others of requests."""

    REFUSE = "refuse"
    HANG = "hang"
    CLOSE = "close"
    DROP = "drop"
    SWALLOW = "swallow"
    DELAY = "delay"
    TRICKLE = "trickle"
    REWRITE = "rewrite"


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkFault:
    """One fault; `is_handled` if the broker gets the request. `change` edits a response's bytes,
    `change_message` its decoded form.
    """

    kind: FaultKind
    is_handled: bool = True
    kept_bytes: int = 0
    piece_bytes: int = 0
    pause_ms: float = 0
    change: Callable[[bytes], bytes] | None = None
    change_message: Callable[[Response], object] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRates:
    """Shares of connections (`refuse`, `hang`) and of requests (the others) that meet a fault.

    A close or a drop comes before or after the broker handles the request, in equal shares; a close
    after it may cut the response. `apis` limits the faults of requests, by default to none.
    """

    refuse: float = 0
    hang: float = 0
    close: float = 0
    drop: float = 0
    swallow: float = 0
    delay: float = 0
    trickle: float = 0
    delay_ms: int = 200
    apis: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for name in self.apis:
            _ensure_api(name)
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, float) and not 0 <= value <= 1:
                raise ValueError(f"the rate {each.name} is {value}; give a share from 0 to 1")


class _PlannedFault:
    """Fault of `times` of the matching requests or connections; None affects all from `first`."""

    def __init__(self, subject: str, *, first: int, times: int | None) -> None:
        self.subject = subject
        self.times = times
        self.met = 0
        self.fault: NetworkFault | None = None
        self._hits = range(first, last_of(first, times) + 1)
        self._matched = 0

    def is_due(self) -> bool:
        """Count a matching request, and return whether the fault affects it."""
        self._matched += 1
        return self._matched in self._hits


class _RandomFaults:
    """Faults by chance."""

    def __init__(self, rates: FaultRates, seed: int) -> None:
        self.rates = rates
        self.seed = seed
        self.met = 0


class ChosenFault(NamedTuple):
    """A fault for one request or connection; call `take_effect` when it does."""

    fault: NetworkFault
    source: _PlannedFault | _RandomFaults
    counts: Counter[str]

    def take_effect(self) -> None:
        """Count the fault in the proxy's counts, and as met."""
        self.source.met += 1
        self.counts[self.fault.kind.value] += 1


class ConnectionChance:
    """Chance of one connection, so that the timing of another one does not change its faults."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._sources: dict[int, Random] = {}

    def of(self, seed: int) -> Random:
        """Return this connection's source of chance for a seed."""
        source = self._sources.get(seed)
        if source is None:
            source = self._sources[seed] = SeededRandom(seed + self._number * _SEED_STEP)
        return source


class NetworkFaults:
    """Armed faults of one proxy; armed on the test's thread, met on the proxy's."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._planned: tuple[_PlannedFault, ...] = ()
        self._random: tuple[_RandomFaults, ...] = ()
        self._armed: list[tuple[ArmedFault, bool]] = []

    def on(self, api: str, *, first: int = 1, times: int | None = 1) -> "RequestFaultPlan":
        """Select requests by Kafka's name of their API."""
        _ensure_api(api)
        return RequestFaultPlan(self, _PlannedFault(api, first=first, times=times))

    def on_connect(self, *, first: int = 1, times: int | None = 1) -> "ConnectionFaultPlan":
        """Select connections, in the order of their arrival."""
        return ConnectionFaultPlan(self, _PlannedFault(_CONNECT, first=first, times=times))

    def at_random(self, rates: FaultRates, *, seed: int) -> ArmedFault:
        """Inject faults by chance; the same seed gives a connection the same sequence."""
        chance = _RandomFaults(rates, seed)
        self._random = (*self._random, chance)

        def end(armed: ArmedFault) -> None:
            self._random = tuple(each for each in self._random if each is not chance)
            self._forget(armed)

        words = f"faults of seed {seed}"
        return self._arm(ArmedFault(words, chance, times=None, end=end), is_planned=False)

    def clear(self) -> None:
        """Disarm all faults; FaultNotMetError if a planned one was not met as planned."""
        ended = tuple(self._armed)
        for armed, _ in ended:
            armed.end()
        for armed, is_planned in ended:
            if is_planned:
                armed.ensure_met()

    # -- for the proxy's connections

    def of_connection(self, chance: ConnectionChance) -> ChosenFault | None:
        """Return the fault of a new connection."""
        return self._planned_for(_CONNECT) or self._random_for(chance, _connection_fault)

    def of_request(self, api: str, chance: ConnectionChance) -> ChosenFault | None:
        """Return the fault of a request."""
        return self._planned_for(api) or self._random_for(
            chance, lambda rates, random: _request_fault(rates, random, api=api)
        )

    # -- for the plans

    def arm(self, planned: _PlannedFault, fault: NetworkFault) -> ArmedFault:
        """Arm a planned fault."""
        planned.fault = fault
        self._planned = (*self._planned, planned)

        def end(armed: ArmedFault) -> None:
            self._planned = tuple(each for each in self._planned if each is not planned)
            self._forget(armed)

        words = f"{fault.kind} on {planned.subject}"
        armed = ArmedFault(words, planned, times=planned.times, end=end)
        return self._arm(armed, is_planned=True)

    def _arm(self, armed: ArmedFault, *, is_planned: bool) -> ArmedFault:
        self._armed.append((armed, is_planned))
        return armed

    def _forget(self, armed: ArmedFault) -> None:
        self._armed = [each for each in self._armed if each[0] is not armed]

    def _planned_for(self, subject: str) -> ChosenFault | None:
        """Return the first fault that is due; each one counts the request or connection."""
        due = [each for each in self._planned if each.subject == subject and each.is_due()]
        for each in due:
            if each.fault is not None:
                return ChosenFault(each.fault, each, self.counts)
        return None

    def _random_for(
        self,
        chance: ConnectionChance,
        choose: Callable[[FaultRates, Random], NetworkFault | None],
    ) -> ChosenFault | None:
        for each in self._random:
            fault = choose(each.rates, chance.of(each.seed))
            if fault is not None:
                return ChosenFault(fault, each, self.counts)
        return None


class ConnectionFaultPlan:
    """Selected connections; a method chooses their fault and arms it."""

    def __init__(self, faults: NetworkFaults, planned: _PlannedFault) -> None:
        self._faults = faults
        self._planned = planned

    def refuse(self) -> ArmedFault:
        """Close the connection at once."""
        return self._faults.arm(self._planned, NetworkFault(kind=FaultKind.REFUSE))

    def hang(self) -> ArmedFault:
        """Accept the connection, and forward none of its requests."""
        return self._faults.arm(self._planned, NetworkFault(kind=FaultKind.HANG))


class RequestFaultPlan:
    """Selected requests; a method chooses their fault and arms it."""

    def __init__(self, faults: NetworkFaults, planned: _PlannedFault) -> None:
        self._faults = faults
        self._planned = planned

    def close(self, *, handled: bool = False, kept_bytes: int = 0) -> ArmedFault:
        """Close the connection instead of a response.

        With `handled`, the broker gets the request first, and the client the first `kept_bytes` of
        the response.
        """
        return self._arm(
            NetworkFault(kind=FaultKind.CLOSE, is_handled=handled, kept_bytes=kept_bytes)
        )

    def drop(self, *, handled: bool = False) -> ArmedFault:
        """Send no response, and none to later requests of the connection; it stays open.

        With `handled`, the broker gets the request.
        """
        return self._arm(NetworkFault(kind=FaultKind.DROP, is_handled=handled))

    def swallow(self) -> ArmedFault:
        """Lose this response alone: the next response of the connection comes in its place."""
        return self._arm(NetworkFault(kind=FaultKind.SWALLOW))

    def delay(self, *, seconds: float = 0, ms: float = 0) -> ArmedFault:
        """Send the response, and each later one of the connection, after a pause."""
        return self._arm(NetworkFault(kind=FaultKind.DELAY, pause_ms=seconds * 1000 + ms))

    def trickle(self, *, piece_bytes: int, pause_ms: float) -> ArmedFault:
        """Send the response in pieces, with a pause after each."""
        return self._arm(
            NetworkFault(kind=FaultKind.TRICKLE, piece_bytes=piece_bytes, pause_ms=pause_ms)
        )

    def rewrite(self, change: Callable[[Response], object]) -> ArmedFault:
        """Send the response as `change` leaves it; it gets the decoded message."""
        return self._arm(NetworkFault(kind=FaultKind.REWRITE, change_message=change))

    def rewrite_bytes(self, change: Callable[[bytes], bytes]) -> ArmedFault:
        """Send the bytes that `change` returns for the response, header included."""
        return self._arm(NetworkFault(kind=FaultKind.REWRITE, change=change))

    def _arm(self, fault: NetworkFault) -> ArmedFault:
        return self._faults.arm(self._planned, fault)


_CONNECT: Final = "connect"
#: A close by chance keeps up to this many bytes of the response; most responses are longer.
_KEPT_BYTES: Final = 40
_PIECES: Final = 64


def _ensure_api(api: str) -> None:
    if api not in _APIS:
        raise ValueError(f"unknown API {api!r}; the APIs are {', '.join(sorted(_APIS))}")


def _connection_fault(rates: FaultRates, random: Random) -> NetworkFault | None:
    kind = _chosen(random.fraction(), {FaultKind.REFUSE: rates.refuse, FaultKind.HANG: rates.hang})
    return None if kind is None else NetworkFault(kind=kind)


def _request_fault(rates: FaultRates, random: Random, *, api: str) -> NetworkFault | None:
    if rates.apis and api not in rates.apis:
        return None
    shares = {
        FaultKind.CLOSE: rates.close,
        FaultKind.DROP: rates.drop,
        FaultKind.SWALLOW: rates.swallow,
        FaultKind.DELAY: rates.delay,
        FaultKind.TRICKLE: rates.trickle,
    }
    kind = _chosen(random.fraction(), shares)
    if kind is None:
        return None
    return NetworkFault(
        kind=kind,
        is_handled=random.below(2) == 1 if kind in {FaultKind.CLOSE, FaultKind.DROP} else True,
        kept_bytes=random.below(_KEPT_BYTES),
        piece_bytes=1 + random.below(_PIECES),
        pause_ms=1 + random.below(rates.delay_ms),
    )


def _chosen(fraction: float, shares: dict[FaultKind, float]) -> FaultKind | None:
    for kind, share in shares.items():
        if fraction < share:
            return kind
        fraction -= share
    return None
