"""The engine in plain Python: the reference for the kernels, and their stand-in."""

from typing import Final

from cordwood.compaction.engine.engine import Engine
from cordwood.compaction.engine.header_survey import PlainSurveyor
from cordwood.compaction.engine.plain_key_collector import PlainKeyCollector, mark, survivors
from cordwood.compaction.engine.plain_key_map import PlainKeyMap
from cordwood.compaction.engine.plain_rewriter import PlainRewriter

PLAIN: Final = Engine(
    surveyor=PlainSurveyor,
    key_map=PlainKeyMap,
    rewriter=PlainRewriter,
    collector=PlainKeyCollector,
    survivors=survivors,
    mark=mark,
)
