"""Script of one simulation of a cluster: its setup, and every fault and client operation in it.

    seed 17 nodes 3 partitions 1 producers idempotent,all fetch_bytes 300
       812.104 send p0 0 2
       815.730 kill n2 640.5
       816.001 delay n1>n3#12 85.25

A simulation records its script while it draws the faults of its seed. The same text runs again
without any draw, and has the same history. The seed stays in it for the delays of frames that have
no fault, and for the random numbers of nodes and clients.

    send P N COUNT         producer P sends records to partition N
    kill, crash, lose N    node N ends; its disk keeps all, what is synced, or nothing. The last
                           requests of its connections arrive after MS, unless that is -1
    start N, stop N        a process begins; a controlled shutdown begins
    pause N, resume N      a process stands still, and goes on
    expire N               ZooKeeper ends the session of a node
    break N, cut N, join N the connection of a node to ZooKeeper breaks, stays broken, may return;
                           the first requests on the way still arrive
    zookeeper-stop, zookeeper-start
    part A B, heal A B     two processes cannot reach each other
    drop A>B#K MS          frame K from A to B is lost with its connection, and arrives after MS,
                           unless that is -1; `A<B` is a response to A
    delay A>B#K MS         the frame arrives after MS
"""

from collections.abc import Iterable
from random import Random
from typing import Final, NamedTuple

#: Producers, by their acknowledgements.
IDEMPOTENT: Final = "idempotent"
ALL: Final = "all"
ONE: Final = "one"

FRAME_STEPS: Final = frozenset({"drop", "delay"})
_DIGITS: Final = 3


class Step(NamedTuple):
    """A fault, or an operation of a client, at a time."""

    at_ms: float
    kind: str
    arguments: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join((f"{self.at_ms:10.3f}", self.kind, *self.arguments))


class ClusterSetup(NamedTuple):
    """The cluster and its clients; without faults, all else follows."""

    seed: int
    nodes: int
    partitions: int
    producers: tuple[str, ...]
    #: `replica.fetch.max.bytes`: with a few hundred, a follower needs many rounds to catch up.
    fetch_bytes: int

    @classmethod
    def drawn(cls, seed: int) -> "ClusterSetup":
        """Return the setup of a seed."""
        random = Random(f"setup of {seed}")
        return cls(
            seed,
            random.choice((3, 3, 3, 3, 4, 5)),
            random.choice((1, 1, 1, 2)),
            random.choice(((IDEMPOTENT, ALL), (IDEMPOTENT, ALL), (IDEMPOTENT, ONE))),
            random.choice((200, 400, 1 << 20)),
        )

    def __str__(self) -> str:
        return (
            f"seed {self.seed} nodes {self.nodes} partitions {self.partitions} "
            f"producers {','.join(self.producers)} fetch_bytes {self.fetch_bytes}"
        )


class ClusterScript(NamedTuple):
    """All that was drawn for one simulation."""

    setup: ClusterSetup
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        return "\n".join(map(str, (self.setup, *self.steps)))


def rounded(at_ms: float) -> float:
    """Return a time as scripts have it: written and read again, it is the same number."""
    return round(at_ms, _DIGITS)


def parse_script(text: str) -> ClusterScript:
    """Return the script of a text; lines that begin with `#` are comments."""
    first, *rest = (
        words for line in text.splitlines() if (words := line.split()) and not line.startswith("#")
    )
    return ClusterScript(_setup_of(first), tuple(_steps_of(rest)))


def _setup_of(words: list[str]) -> ClusterSetup:
    values = dict(zip(words[::2], words[1::2], strict=True))
    return ClusterSetup(
        int(values["seed"]),
        int(values["nodes"]),
        int(values["partitions"]),
        tuple(values["producers"].split(",")),
        int(values["fetch_bytes"]),
    )


def _steps_of(lines: Iterable[list[str]]) -> Iterable[Step]:
    for at_ms, kind, *arguments in lines:
        yield Step(float(at_ms), kind, tuple(arguments))
