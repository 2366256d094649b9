"""What a pass did, in numbers that others can check: printed, kept, and compared by `verify`."""

import json
from dataclasses import asdict, dataclass

from cordwood.compaction.engine import Counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """Made of a plan and what the rewrite has counted. Times and offsets are the plan's.

    `keys` counts distinct keys among dirty records. `verified` says how: "all keys", "a sample of
    the keys, seed" and which, or "no". `seed` is the job's: by it the same keys are the sample
    again. `erased_keys` are seals (`erasing`), for whoever gave the keys to add.
    """

    partition: str
    first_dirty: int
    end: int
    now_ms: int
    segments_before: int
    segments_after: int
    keys: int
    ranges: int
    counts: Counts
    erased_keys: tuple[str, ...] = ()
    verified: str = "no"
    seed: int = 0

    def to_json(self) -> str:
        """Return the same as a JSON object; the stream's hash in hexadecimal digits."""
        fields = asdict(self)
        fields["counts"]["stream"] = f"{self.counts.stream:016x}"
        return json.dumps(fields)
