"""The process that a `ProcessRunner` starts, on this machine, with less priority than it has.

python -m cordwood.compaction DESCRIPTOR    of the line between them
"""

import os
import signal
import sys
from functools import partial
from multiprocessing.connection import Connection
from typing import Final

from cordwood.compaction.process import Ground, serve
from cordwood.core.system import SystemClock, SystemFiles, ThreadWorker

#: A tenth of the processor's time where others want all of it.
NICENESS: Final = 10

if __name__ == "__main__":
    os.nice(NICENESS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal, and meant for the broker
    ground = Ground(SystemFiles(), SystemClock(), ThreadWorker(1), end=partial(os._exit, 0))
    serve(Connection(int(sys.argv[1])), ground)
