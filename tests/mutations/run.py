"""Run of mutants of the engine; prints the undetected ones.

    python -m tests.mutations.run                      all of them, of `MODULES`
    python -m tests.mutations.run --sample 60 --seed 7 as many, drawn by chance
    python -m tests.mutations.run engine.plain_key_map    of these modules

The last line counts; the exit code is 1 when an undetected mutant is not in `equivalents`.
"""

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Final

from tests.mutations import nets
from tests.mutations.equivalents import EQUIVALENT
from tests.mutations.mutants import Mutant, mutants_of, unchanged
from tests.mutations.nets import Noticed

SOURCES: Final = Path(__file__).parents[2] / "src" / "cordwood" / "compaction"
#: Those of which each mutant is known to be noticed, or to change nothing.
MODULES: Final = (
    "engine.batch_retention",
    "engine.cleaned_transaction_metadata",
    "engine.header_survey",
    "engine.plain_key_map",
    "engine.plain_rewriter",
    "engine.record_marks",
    "engine.segment_chunk",
    "engine.unpacked_batch",
    "passes.aborted_transactions",
    "passes.mark_phase",
    "passes.mark_windows",
    "passes.segment_writer",
    "plan.candidates",
    "plan.cleaning_plan",
    "plan.delete_horizon",
    "plan.plan_builder",
    "plan.segment_groups",
)


def mutants(modules: Sequence[str]) -> list[Mutant]:
    """Return the mutants of modules, each once."""
    return [mutant for name in modules for mutant in mutants_of(SOURCES, name)]


def main(arguments: Sequence[str]) -> int:
    """Run the mutants of the given modules."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", default=MODULES)
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--at-once", type=int, default=2)
    asked = parser.parse_args(arguments)
    for name in MODULES:
        import_module(f"{nets.PACKAGE}.{name}")
    chosen = mutants(asked.modules)
    if asked.sample is not None and asked.sample < len(chosen):
        chosen = random.Random(asked.seed).sample(chosen, asked.sample)
    same = [unchanged(SOURCES, name) for name in asked.modules]
    if any(how is not Noticed.NEVER for _, how in nets.how_noticed(same, at_once=asked.at_once)):
        sys.exit("something is wrong without any change: see to that first")
    begun = time.monotonic()
    found = list(nets.how_noticed(chosen, at_once=asked.at_once))
    alive = [mutant for mutant, how in found if how is Noticed.NEVER]
    unknown = [mutant for mutant in alive if str(mutant) not in EQUIVALENT]
    for mutant in unknown:
        sys.stdout.write(f"{mutant}\n")
    count = Counter(how for _, how in found)
    sys.stdout.write(
        f"{len(chosen)} mutants: {count[Noticed.VERIFIED]} noticed by a pass or its verification, "
        f"{count[Noticed.TESTED]} by tests, {len(alive) - len(unknown)} change nothing, "
        f"{len(unknown)} passed, in {time.monotonic() - begun:.0f} s\n"
    )
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
