"""A broker inside a Python program, on this machine's files, clock and sockets.

    with cordwood.Broker(data="kafka-logs") as broker:
        broker.address

It is the node that `cordwood serve` runs, without what belongs to a process: signals, the standard
output, limits. It works on an event loop in a thread of its own and shares the interpreter with its
program, so a broker with work to do is better off in a process of its own.
"""

import asyncio
from collections.abc import Mapping
from os.path import abspath
from typing import TYPE_CHECKING, Final, Self

from cordwood.broker.cleaning import CleaningMachine
from cordwood.broker.network import Network
from cordwood.client.loop_thread import LoopThread
from cordwood.compaction.processes import ProcessRunner
from cordwood.config import ensure_sound
from cordwood.core import system
from cordwood.core.errors import InvalidRequestError
from cordwood.core.settings import SettingValue, Source, texts_of
from cordwood.node import Machine, Node
from cordwood.records import kernels

if TYPE_CHECKING:
    from os import PathLike

_THREADS: Final = 8
_MOST_PASSES: Final = 64
#: A program has files of its own: logs keep so many open at the most.
_FILES_OPEN: Final = 200


def this_machine(*, files_open: int, host: str) -> Machine:
    """Return what a node stands on here, for the running loop; the caller closes it.

    Passes of the cleaner run in processes of their own; a thread waits for each of them.
    Others reach a listener that listens everywhere by the name of the host.
    """
    clock = system.SystemClock()
    scheduler = system.LoopScheduler(asyncio.get_running_loop(), clock)
    return Machine(
        files=system.SystemFiles(),
        clock=clock,
        scheduler=scheduler,
        worker=system.ThreadWorker(_THREADS),
        random=system.SystemRandom(),
        network=Network(clock, scheduler),
        cleaning=CleaningMachine(ProcessRunner(), system.ThreadWorker(_MOST_PASSES)),
        files_open=files_open,
        striders=kernels.strider,
        inspector=kernels.inspector,
        host=host,
    )


class Broker:
    """Serves from `start` to `close`, or for as long as a `with` block lasts.

    `config` are settings by Kafka's names. Port 0 is any free one: `address` says which.
    """

    def __init__(
        self,
        data: "str | PathLike[str]",
        *,
        listen: str = "127.0.0.1:0",
        config: Mapping[str, SettingValue] | None = None,
    ) -> None:
        where = {"log.dirs": abspath(data), "listeners": f"PLAINTEXT://{listen}"}  # noqa: PTH100  # keeps links
        self._given = Source("cordwood.Broker", {**where, **texts_of(config or {})})
        self._thread: LoopThread | None = None
        self._node: Node | None = None
        self._machine: Machine | None = None

    @property
    def address(self) -> str:
        """Where clients connect to, as `host:port`; of several listeners, the first."""
        if self._node is None:
            raise InvalidRequestError("the broker is not started; use it in a with block")
        return str(next(iter(self._node.addresses.values())))

    def start(self) -> None:
        """Serve; SettingError, LogDirectoryError or ListenError if that cannot be done."""
        if self._node is not None:
            raise InvalidRequestError("the broker is started already")
        ensure_sound(self._given)
        self._thread = LoopThread("cordwood-broker", owner="broker")
        try:
            self._thread.run(self._start())
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Answer what is at work and leave the data as a clean stop leaves them."""
        if self._thread is not None:
            self._thread.end(self._stop)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def _start(self) -> None:
        self._machine = this_machine(files_open=_FILES_OPEN, host="localhost")
        node = Node([self._given], self._machine)
        await node.start()
        self._node = node
        if kernels.is_warm():
            node.use_kernels()

    async def _stop(self) -> None:
        node, self._node = self._node, None
        if node is not None:
            await node.stop()
        if self._machine is not None:
            self._machine.close()
