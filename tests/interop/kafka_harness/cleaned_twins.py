"""One log of which two cleaners, Kafka's and ours, each clean a copy.

live     Kafka appends to it, rolls it, closes it
clean    each cleaner takes one of two copies, at the same time, within the same bounds
go on    with the two copies in turns, so that each cleaner meets the other's output
"""

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cordwood.compaction.engine.engine import Engine
from cordwood.workbench.compact import CompactReport
from tests.interop.kafka_harness import our_cleaning
from tests.interop.kafka_harness.cleaned_logs import differences
from tests.interop.kafka_harness.compacted_lives import CompactedLife
from tests.interop.kafka_harness.kafka_logs import KafkaLogs, KafkaPass

if TYPE_CHECKING:
    from tests.interop.kafka_harness.spec import Json


class TwinPass(NamedTuple):
    """The passes of both cleaners over the same log, and their differences."""

    theirs: KafkaPass
    ours: CompactReport | None
    found: tuple[str, ...]


class CleanedTwins:
    """The log is in one directory, the copies in two others, which the last pass has left."""

    def __init__(self, kafka_logs: KafkaLogs, folder: Path, life: CompactedLife) -> None:
        self.live, self.theirs, self.ours = (
            folder / side / "t-0" for side in ("live", "theirs", "ours")
        )
        self.live.parent.mkdir(parents=True)
        self._kafka_logs = kafka_logs
        self._life = life
        self._checkpoint = -1
        self._passes = 0

    def live_on(self) -> None:
        """Let the log live a stage of its life."""
        for asked, question in self._life.stage():
            self._life.learn(asked, self._kafka_logs.ask(asked, self.live, question))
        self._settle_times()

    def clean(self, engine: Engine) -> TwinPass:
        """Clean a copy each; the log goes on as one of them."""
        for copy in (self.theirs, self.ours):
            shutil.rmtree(copy.parent, ignore_errors=True)
            shutil.copytree(self.live, copy)
        theirs = self._clean_theirs()
        ours = self._clean_ours(engine) if theirs.cleanable_bytes else None
        log_start = self._life.bounds["log_start"]
        found = tuple(differences(self.ours, self.theirs, log_start=log_start))
        self._checkpoint = theirs.end
        self._passes += 1
        shutil.rmtree(self.live)
        shutil.copytree(self.ours if self._passes % 2 else self.theirs, self.live)
        for path in self.live.glob("*.deleted"):
            path.unlink()
        return TwinPass(theirs, ours, found)

    def _clean_theirs(self) -> KafkaPass:
        now: dict[str, Json] = {"now_ms": self._life.now_ms}
        opening: dict[str, Json] = {"config": dict(self._life.config), "is_clean": True}
        opening |= self._life.bounds
        self._kafka_logs.ask("open", self.theirs, {**opening, **now})
        done = self._kafka_logs.clean(self.theirs, {"checkpoint": self._checkpoint, **now})
        self._kafka_logs.ask("close", self.theirs, now)
        return done

    def _clean_ours(self, engine: Engine) -> CompactReport:
        life = self._life
        our_cleaning.place_beside(self.ours, bounds=life.bounds, cleaned_to=self._checkpoint)
        return our_cleaning.clean(self.ours, life.config, now_ms=life.now_ms, engine=engine)

    def _settle_times(self) -> None:
        """Let files that are newer than the log's time be of its time."""
        now_ns = self._life.now_ms * 1_000_000
        for path in self.live.iterdir():
            if path.stat().st_mtime_ns > now_ns:
                os.utime(path, ns=(now_ns, now_ns))
