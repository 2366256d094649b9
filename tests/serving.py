"""`cordwood serve` as a process that can be killed and restarted in the same directories.

The line that it prints marks its readiness. Its port is chosen once, at the first start, so that
clients find it again. Its other output goes to a file. It works in a folder of its own. By default
it runs under the guard of `tests.loop_guard`, and its end raises if a call blocked the event loop.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from types import MappingProxyType
from typing import Final

from tests.loop_guard import BLOCKED, HELD_UP, REPORTED

ROOT: Final = Path(__file__).parents[1]
CORDWOOD: Final = (sys.executable, "-m", "cordwood")
GUARDED: Final = (sys.executable, "-m", "tests.loop_guard")
NO_SETTINGS: Final[Mapping[str, str]] = MappingProxyType({})
PATIENCE_S: Final = 60


class Serving:
    """A broker over directories of its own, of which the first one has its metadata.

    `arguments` are added to its command line; `directories` overrides its log directories. `log` is
    a descriptor that replaces the file of its log.
    """

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, str] = NO_SETTINGS,
        *,
        directories: Sequence[Path] | None = None,
        arguments: Sequence[str] = (),
        environment: Mapping[str, str] = NO_SETTINGS,
        program: Sequence[str] = GUARDED,
    ) -> None:
        self.folder = folder
        self.data = (folder / "data",) if directories is None else tuple(directories)
        self.words = folder / "words.txt"
        self.address = "127.0.0.1:0"
        self.line = ""
        self.program = program
        self.log: int | None = None
        self._settings = settings
        self._arguments = arguments
        self._environment = environment
        self.took_to_start_s = 0.0
        self._read = 0
        self._process: subprocess.Popen[str] | None = None

    def launch(self) -> None:
        """Start, without waiting until it is ready."""
        paths = (os.environ.get("PYTHONPATH"), str(ROOT))
        path = os.pathsep.join(filter(None, paths))
        with self.words.open("ab") as words:
            self._process = subprocess.Popen(
                self._command(),
                cwd=self.folder,
                env={**os.environ, "PYTHONPATH": path, **self._environment},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=words if self.log is None else self.log,
                text=True,
            )

    def start(self) -> None:
        """Start, and wait until it is ready."""
        began_s = perf_counter()
        self.launch()
        self.line = self._stdout_line()
        self.took_to_start_s = perf_counter() - began_s
        found = re.search(r"is ready: PLAINTEXT (\S+:\d+)", self.line)
        if found is None:
            self.end()
            raise AssertionError(self.words.read_text()[-3000:])
        self.address = found[1]

    def is_over(self, within_s: float = 0) -> bool:
        """Whether it has ended, or ends within a time."""
        try:
            self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        """End it as a lack of memory would."""
        self.process.kill()
        self.end()

    def stop(self) -> int:
        """End it as an operator would, and return its exit code."""
        self.process.terminate()
        return self.end()

    def end(self) -> int:
        """Wait for its end."""
        process = self.process
        try:
            code = process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        if process.stdout is not None:
            process.stdout.close()
        self._process = None
        lines = self.words.read_text().splitlines()
        HELD_UP.extend(line for line in lines[self._read :] if REPORTED in line)
        self._read = len(lines)
        assert not self.told(BLOCKED), "\n".join(lines)
        return code

    @property
    def is_launched(self) -> bool:
        return self._process is not None

    @property
    def process(self) -> subprocess.Popen[str]:
        assert self._process is not None, "it has been started"
        return self._process

    @property
    def resident_kb(self) -> int:
        """The memory that it has."""
        found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())
        assert found is not None
        return int(found[1])

    def told(self, words: str) -> int:
        """How many of its lines have these words."""
        return sum(words in line for line in self.words.read_text().splitlines())

    def _command(self) -> list[str]:
        debug = ["--debug"] if self.program is GUARDED else []
        has_protocols = "://" in self.address
        given = (
            ["--set", f"listeners={self.address}"] if has_protocols else ["--listen", self.address]
        )
        arguments = ["serve", *debug, *self._arguments, *given]
        if self.data:
            arguments += ["--data", ",".join(map(str, self.data))]
        for key, value in self._settings.items():
            arguments += ["--set", f"{key}={value}"]
        return [*self.program, *arguments]

    def _stdout_line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()


@contextmanager
def ended_with(broker: Serving) -> Iterator[Serving]:
    """Leave no process behind, however the test ends."""
    try:
        yield broker
    finally:
        if broker.is_launched:
            broker.kill()
