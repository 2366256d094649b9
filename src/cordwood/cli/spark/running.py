"""What the commands of `cordwood spark` share: their session, and how they tell of their progress.

A bar on a terminal; where there is none, a line for each tenth that is done. Below spark-submit
nothing, for words and data would come out as one, and Spark tells of tasks itself.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import typer

from cordwood.cli.output import is_terminal, tell
from cordwood.cli.pairs import pairs_in
from cordwood.core.errors import SparkError

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

    from cordwood.spark.jobs import Progress
    from cordwood.spark.session import SparkSession

Master = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Spark's master.  [local[*], or what spark-submit says]"),
]
Conf = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="NAME=VALUE", help="A setting of Spark's; may come again."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

_TENTHS: Final = 10


class Running(NamedTuple):
    """What a job is given: its session, and who is told how far it has come."""

    spark: "SparkSession"
    progress: "Progress"


@contextmanager
def running(
    job: str, *, master: str | None = None, conf: Sequence[str] | None = None
) -> Iterator[Running]:
    """Yield what a job runs in; SparkError where there is no Spark."""
    given = pairs_in(conf)
    try:
        from cordwood.spark.session import is_submitted, session  # noqa: PLC0415  # pyspark: 0.5 s
    except ImportError as error:
        raise SparkError(
            f"Spark is not there: {error}", remedy="pip install 'cordwood[spark]'"
        ) from error
    begun = session(f"cordwood {job}", master=master, conf=given)
    with begun as spark, progress(is_shown=not is_submitted()) as told:
        yield Running(spark, told)


@contextmanager
def progress(*, is_shown: bool = True) -> Iterator["Progress"]:
    """Yield who shows how far a job has come."""
    if not is_shown:
        from cordwood.spark.jobs import UNSEEN  # noqa: PLC0415  # help needs none of it

        yield UNSEEN
        return
    if not is_terminal(sys.stderr):
        yield Lines()
        return
    from rich.console import Console  # noqa: PLC0415  # for terminals alone
    from rich.progress import Progress as Rich  # noqa: PLC0415  # as above

    with Rich(console=Console(stderr=True), transient=True) as rich:
        yield Bars(rich)


class Bars:
    """A bar for each part of a job, one below the other."""

    def __init__(self, rich: "RichProgress") -> None:
        self._rich = rich

    def begin(self, what: str, total: int) -> None:
        self._task = self._rich.add_task(what, total=total)

    def advance(self, size: int) -> None:
        self._rich.advance(self._task, size)


class Lines:
    """A line for each tenth that is done."""

    def __init__(self) -> None:
        self._what = ""
        self._total = self._done = self._tenths = 0

    def begin(self, what: str, total: int) -> None:
        self._what, self._total = what, total
        self._done = self._tenths = 0

    def advance(self, size: int) -> None:
        self._done += size
        tenths = _TENTHS * self._done // self._total if self._total else _TENTHS
        if tenths > self._tenths:
            self._tenths = tenths
            tell(f"{self._what}: {self._done:,} of {self._total:,} bytes")
