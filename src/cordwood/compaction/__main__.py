"""The process that a `ProcessRunner` starts, on the same machine, at a lower priority.

python -m cordwood.compaction DESCRIPTOR    of the pipe between them
"""

import os
import signal
import sys
from functools import partial
from multiprocessing.connection import Connection
from typing import Final

from cordwood.compaction.runner.worker_process import serve
from cordwood.core.system import SystemClock, SystemFiles, ThreadWorker

#: With this niceness the process gets about a tenth of a busy processor.
NICENESS: Final = 10

if __name__ == "__main__":
    os.nice(NICENESS)
    # A terminal sends these signals to all its processes; only the broker is to handle them.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    serve(
        Connection(int(sys.argv[1])),
        SystemFiles(),
        clock=SystemClock(),
        worker=ThreadWorker(1),
        on_disconnect=partial(os._exit, 0),
    )
