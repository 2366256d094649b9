"""The plain engine consists of the plain parts."""

from cordwood.compaction.engine.header_survey import PlainSurveyor
from cordwood.compaction.engine.plain_engine import PLAIN
from cordwood.compaction.engine.plain_key_map import PlainKeyMap
from cordwood.compaction.engine.plain_rewriter import PlainRewriter
from cordwood.compaction.engine.record_marks import Marks
from tests.unit.compaction.compaction_samples import plan


def test_plain_engine_creates_plain_parts() -> None:
    made = (
        PLAIN.surveyor({1}),
        PLAIN.key_map(Marks(1), 100, erased=frozenset(), seed=1),
        PLAIN.rewriter(plan()),
    )

    assert [type(each) for each in made] == [PlainSurveyor, PlainKeyMap, PlainRewriter]
    assert PLAIN.striders(1000) is None
