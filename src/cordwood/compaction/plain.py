"""The engine in plain Python: what kernels are held to, and what serves until they are warm."""

from typing import Final

from cordwood.compaction.engine import Engine
from cordwood.compaction.keymap import PlainKeyMap
from cordwood.compaction.noting import PlainKeyCollector, mark, survivors
from cordwood.compaction.rewrite import PlainRewriter
from cordwood.compaction.sighting import PlainSurveyor

PLAIN: Final = Engine(
    surveyor=PlainSurveyor,
    key_map=PlainKeyMap,
    rewriter=PlainRewriter,
    collector=PlainKeyCollector,
    survivors=survivors,
    mark=mark,
)
