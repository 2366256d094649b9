"""Passes of the cleaner where they are begun: what a call of the test has begun is done then."""

from cordwood.broker.cleaning import CleaningMachine
from cordwood.compaction.passes import InlineRunner
from cordwood.compaction.plain import PLAIN
from cordwood.core.ports import Files
from cordwood.testing.worker import InlineWorker


def cleaning_here(files: Files) -> CleaningMachine:
    """Return what runs passes over these files, plainly."""
    return CleaningMachine(InlineRunner(files, PLAIN), InlineWorker())
