"""How long does the broker's event loop stall under a hostile load, and a bystander's request?

    python -m benchmarks.macro.stalls [--full] [--fsync MS] [--switch MS] [--stacks] [PART...]

The broker is `cordwood serve` in a process of its own, on a disk whose fsync takes 100 ms longer.
A timer on its loop is due every 2 ms. A bystander, another process, sends ApiVersions every 5 ms.
Each part (`benchmarks.stalls.loads`) is measured alone, and then all together, on a broker that has
taken a batch. `first batch` measures that one, which imports modules; `restart` kills a broker with
many partitions and measures from the moment at which it serves again. An event counts with its
delay since it was due, so a long stall counts as many late events.

`noise` is the delay with which the machine wakes the bystander: other processes on the processors
delay the broker as much. `loop's processor` is the time that the loop's thread computes without a
look at its timers. Other processes do not change it. `loop's queue` is the time for which the
thread could run and other threads had the processors. `processor` is the whole broker's.
`--stacks` prints the broker's reports of callbacks over 20 ms.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic, sleep
from types import MappingProxyType
from typing import Final, NamedTuple

import cordwood
from benchmarks.figure import Bound, Figure
from benchmarks.results import keep
from benchmarks.stalls.latency_file import Latencies, is_written_to, latencies
from benchmarks.stalls.loads import LOADS
from tests.serving import ROOT, Serving, ended_with

FSYNC_MS: Final = 100
P999_GOAL_MS: Final = 10
MOST_GOAL_MS: Final = 50
FIRST: Final = "first batch"
RESTART: Final = "restart"
ALL: Final = "all together"
PARTS: Final = ("idle", FIRST, *LOADS, ALL, RESTART)
SETTINGS: Final = {
    "log.retention.check.interval.ms": "500",
    "log.cleaner.backoff.ms": "200",
    "log.initial.task.delay.ms": "100",
}
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PARTITIONS_AT_ONCE: Final = 250
_PATIENCE_S: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The seconds of a part, the partitions of the restart, and the conditions."""

    seconds: float
    partitions: int
    is_full: bool
    fsync_ms: float = FSYNC_MS
    switch_ms: float | None = None
    has_stacks: bool = False


#: The size of the other benchmarks from which all parts are measured.
_ALL_PARTS_BYTES: Final = 64 << 20
SMALL: Final = Options(seconds=2, partitions=10, is_full=False)
FULL: Final = Options(seconds=20, partitions=1_000, is_full=True)


class _Measured(NamedTuple):
    """The effect of a part on the loop and on the bystander."""

    loop: Latencies
    ping: Latencies
    noise: Latencies
    used: Latencies
    waited: Latencies
    processor_s: float


class _Site(NamedTuple):
    """A broker, its certificate, and the files of its loop and of the bystander."""

    broker: Serving
    certificate: Path
    loop: Path
    ping: Path

    @property
    def port(self) -> int:
        return int(self.broker.address.rpartition(":")[2])

    @property
    def tls_port(self) -> int:
        return int(self.broker.line.strip().rpartition(":")[2])

    def send_first_batch(self) -> None:
        """Send a batch, for which the broker imports modules."""
        with cordwood.Producer(self.broker.address) as producer:
            producer.send("first", bytes(100), partition=0).result(_PATIENCE_S)

    def processor_s(self) -> float:
        fields = Path(f"/proc/{self.broker.process.pid}/stat").read_text().rpartition(")")[2]
        user, system = fields.split()[11:13]
        return (int(user) + int(system)) / _TICKS

    def wait_for(self, end_s: float) -> None:
        """Wait until the delays of the loop are written up to this time."""
        while not is_written_to(self.loop, end_s):
            if monotonic() > end_s + _PATIENCE_S:
                raise TimeoutError(f"the event loop is blocked for {_PATIENCE_S} s")
            sleep(0.1)

    def measured(self, start_s: float, end_s: float, *, processor_s: float) -> _Measured:
        return _Measured(
            latencies(self.loop, start_s, end_s),
            latencies(self.ping, start_s, end_s),
            latencies(Path(f"{self.ping}.noise"), start_s, end_s),
            latencies(Path(f"{self.loop}.used"), start_s, end_s),
            latencies(Path(f"{self.loop}.waited"), start_s, end_s),
            processor_s,
        )


def figures(size: int = 256 << 20) -> Iterator[Figure]:
    """Measure all parts with small numbers; below the usual size only two, for a moment."""
    if size < _ALL_PARTS_BYTES:
        return measure(replace(SMALL, seconds=1, partitions=3, fsync_ms=5), [ALL, RESTART])
    return measure(SMALL, PARTS)


def measure(options: Options, parts: Sequence[str]) -> Iterator[Figure]:
    """Measure each part on a broker of its own."""
    for part in parts:
        with tempfile.TemporaryDirectory() as folder:
            measured = _MEASURES.get(part, _measure_loads)
            yield from _figures(part, measured(part, Path(folder), options))


def _measure_loads(part: str, folder: Path, options: Options) -> _Measured:
    names = [*LOADS] if part == ALL else [part] if part in LOADS else []
    with _served(folder, options) as site, _bystander(site):
        site.send_first_batch()
        words = (site.port, site.tls_port, site.certificate, options.is_full, *names)
        with _loads(*map(str, words)) as loads:
            start_s, used_s = monotonic(), site.processor_s()
            _send_line(loads)
            sleep(options.seconds)
            end_s, used_s = monotonic(), site.processor_s() - used_s
            _send_line(loads)
            assert loads.stdout is not None
            print(f"  {part}: {loads.stdout.readline().strip()}", file=sys.stderr, flush=True)
        site.wait_for(end_s)
    return site.measured(start_s, end_s, processor_s=used_s)


def _measure_first_batch(_part: str, folder: Path, options: Options) -> _Measured:
    """Measure the first batch."""
    with _served(folder, options) as site, _bystander(site):
        start_s, used_s = monotonic(), site.processor_s()
        site.send_first_batch()
        end_s, used_s = monotonic(), site.processor_s() - used_s
        site.wait_for(end_s)
        print(f"  {FIRST}: {end_s - start_s:.1f} s", file=sys.stderr)
    return site.measured(start_s, end_s, processor_s=used_s)


def _measure_restart(_part: str, folder: Path, options: Options) -> _Measured:
    """Kill a broker with unsynced partitions, and measure the next one from its start on."""
    with _served(folder, options, fsync_ms=0) as site:
        with cordwood.Admin(site.broker.address) as admin:
            for first in range(0, options.partitions, _PARTITIONS_AT_ONCE):
                number = min(_PARTITIONS_AT_ONCE, options.partitions - first)
                admin.create_topic(f"many-{first}", partitions=number)
                _fill(site.broker.address, f"many-{first}", number)
        site.broker.kill()
    with _served(folder, options) as site, _bystander(site):
        start_s, used_s = monotonic(), site.processor_s()
        sleep(options.seconds)
        end_s, used_s = monotonic(), site.processor_s() - used_s
        site.wait_for(end_s)
        print(f"  restart: {site.broker.took_to_start_s:.1f} s to serve", file=sys.stderr)
    return site.measured(start_s, end_s, processor_s=used_s)


_MEASURES: Final[Mapping[str, Callable[[str, Path, Options], _Measured]]] = MappingProxyType(
    {FIRST: _measure_first_batch, RESTART: _measure_restart}
)


def _fill(bootstrap: str, topic: str, partitions: int) -> None:
    with cordwood.Producer(bootstrap) as producer:
        for index in range(partitions):
            producer.send(topic, bytes(100), partition=index)


@contextmanager
def _served(folder: Path, options: Options, *, fsync_ms: float | None = None) -> Iterator[_Site]:
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    if not key.exists():
        _certify(key, certificate)
    fsync_ms = options.fsync_ms if fsync_ms is None else fsync_ms
    environment = {"STALLS_FSYNC_MS": str(fsync_ms), "STALLS_LATENCY": str(folder / "loop")}
    if options.switch_ms is not None:
        environment["STALLS_SWITCH_MS"] = str(options.switch_ms)
    settings = SETTINGS | {
        "ssl.keystore.key": key.read_text(),
        "ssl.keystore.certificate.chain": certificate.read_text(),
    }
    program = (sys.executable, "-m", "benchmarks.stalls.slow_broker")
    broker = Serving(
        folder,
        settings,
        environment=environment,
        program=program,
        arguments=("--debug",) if options.has_stacks else (),
    )
    broker.address = "PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0"
    with ended_with(broker):
        broker.start()
        yield _Site(broker, certificate, folder / "loop", folder / "ping")
    for line in broker.words.read_text().splitlines() if options.has_stacks else ():
        if "held up" in line:
            print(f"  {line}", file=sys.stderr)


def _certify(key: Path, certificate: Path) -> None:
    command = [
        *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
        *("-nodes", "-days", "2", "-subj", "/CN=localhost"),
        *("-addext", "subjectAltName=DNS:localhost"),
        *("-keyout", str(key), "-out", str(certificate)),
    ]
    subprocess.run(command, check=True, capture_output=True)


@contextmanager
def _bystander(site: _Site) -> Iterator[None]:
    """Ping the broker until the end of the block."""
    words = ("127.0.0.1", str(site.port), str(site.ping))
    process = _python("benchmarks.stalls.bystander", *words)
    sleep(1)  # for its imports
    try:
        yield
    finally:
        process.communicate("")


@contextmanager
def _loads(*words: str) -> Iterator[subprocess.Popen[str]]:
    """Return a process that has prepared its loads."""
    process = _python("benchmarks.stalls.loads", *words)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", "the loads are prepared"
        yield process
    finally:
        process.kill()
        process.communicate()


def _send_line(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def _python(module: str, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        (sys.executable, "-m", module, *words),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _figures(part: str, measured: _Measured) -> Iterator[Figure]:
    for subject, found in (("loop", measured.loop), ("ping", measured.ping)):
        name = f"stalls, {part}, {subject}"
        for quantile, value, goal in (
            ("p50", found.p50, None),
            ("p99", found.p99, None),
            ("p99.9", found.p999, P999_GOAL_MS),
            ("maximum", found.most, MOST_GOAL_MS),
        ):
            yield Figure(
                name=f"{name}, {quantile}", value=value, unit="ms", goal=goal, bound=Bound.MOST
            )
    for subject, found in (
        ("loop's processor", measured.used),
        ("loop's queue", measured.waited),
        ("noise", measured.noise),
    ):
        name = f"stalls, {part}, {subject}"
        yield Figure(name=f"{name}, p99.9", value=found.p999, unit="ms")
        yield Figure(name=f"{name}, maximum", value=found.most, unit="ms")
    yield Figure(name=f"stalls, {part}, processor", value=measured.processor_s, unit="s")


def _asked() -> argparse.Namespace:
    asked = argparse.ArgumentParser(prog="benchmarks.macro.stalls")
    asked.add_argument("parts", nargs="*", metavar="PART", choices=[*PARTS, []])
    asked.add_argument("--full", action="store_true")
    asked.add_argument("--fsync", type=float, default=FSYNC_MS)
    asked.add_argument("--switch", type=float, default=None)
    asked.add_argument("--stacks", action="store_true")
    return asked.parse_args()


if __name__ == "__main__":
    said = _asked()
    size = FULL if said.full else SMALL
    keep(
        measure(
            Options(
                seconds=size.seconds,
                partitions=size.partitions,
                is_full=size.is_full,
                fsync_ms=said.fsync,
                switch_ms=said.switch,
                has_stacks=said.stacks,
            ),
            said.parts or PARTS,
        )
    )
