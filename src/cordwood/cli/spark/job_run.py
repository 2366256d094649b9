"""Session and progress display of the `cordwood spark` commands.

Progress is a bar on a terminal, and otherwise a line for each tenth. With spark-submit it is off:
Spark reports its tasks itself, and merges the two output streams.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import typer

from cordwood.cli.arguments import parse_pairs
from cordwood.cli.terminal import is_terminal, print_message
from cordwood.core.errors import SparkError
from cordwood.core.installation import install_command

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

    from cordwood.spark.jobs import Progress
    from cordwood.spark.runtime.session import SparkSession

Master = Annotated[
    str | None,
    typer.Option(
        metavar="URL", help="URL of the Spark master.  [default: local[*], or spark-submit's]"
    ),
]
Conf = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="NAME=VALUE", help="Set one Spark setting. Repeatable."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

_TENTHS: Final = 10


class JobSession(NamedTuple):
    """The Spark session of a job, and its progress display."""

    spark: "SparkSession"
    progress: "Progress"


@contextmanager
def job_session(
    job: str, *, master: str | None = None, conf: Sequence[str] | None = None
) -> Iterator[JobSession]:
    """Yield the session of a job; raise SparkError if Spark is not installed."""
    given = parse_pairs(conf)
    try:
        from cordwood.spark.runtime.session import is_submitted, session  # noqa: PLC0415  # pyspark: 0.5 s
    except ImportError as error:
        raise SparkError(
            f"Spark: is not installed ({error})", remedy=install_command("pyspark")
        ) from error
    if is_terminal(sys.stderr) and not is_submitted():
        print_message("starting Spark ...")
    started = session(f"cordwood {job}", master=master, conf=given)
    with started as spark, job_progress(is_shown=not is_submitted()) as progress:
        yield JobSession(spark, progress)


@contextmanager
def job_progress(*, is_shown: bool = True) -> Iterator["Progress"]:
    """Yield the progress display of a job."""
    if not is_shown:
        from cordwood.spark.jobs import NO_PROGRESS  # noqa: PLC0415  # help needs none of it

        yield NO_PROGRESS
        return
    if not is_terminal(sys.stderr):
        yield ProgressLines()
        return
    from rich.console import Console  # noqa: PLC0415  # for terminals alone
    from rich.progress import Progress as Rich  # noqa: PLC0415  # as above

    with Rich(console=Console(stderr=True), transient=True) as rich:
        yield ProgressBars(rich)


class ProgressBars:
    """One progress bar for each phase of a job, below each other."""

    def __init__(self, rich: "RichProgress") -> None:
        self._rich = rich

    def begin(self, phase: str, total: int) -> None:
        self._task = self._rich.add_task(phase, total=total)

    def advance(self, size: int) -> None:
        self._rich.advance(self._task, size)


class ProgressLines:
    """One line for each tenth of a phase."""

    def __init__(self) -> None:
        self._phase = ""
        self._total = self._done = self._tenths = 0

    def begin(self, phase: str, total: int) -> None:
        self._phase, self._total = phase, total
        self._done = self._tenths = 0

    def advance(self, size: int) -> None:
        self._done += size
        tenths = _TENTHS * self._done // self._total if self._total else _TENTHS
        if tenths > self._tenths:
            self._tenths = tenths
            print_message(f"{self._phase}: {self._done:,} of {self._total:,} bytes")
