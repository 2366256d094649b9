"""The plain engine is made of the plain parts."""

from cordwood.compaction.keymap import PlainKeyMap
from cordwood.compaction.marks import Marks
from cordwood.compaction.plain import PLAIN
from cordwood.compaction.rewrite import PlainRewriter
from cordwood.compaction.sighting import PlainSurveyor
from tests.unit.compaction.compaction_samples import plan


def test_plain_engine_makes_plain_parts() -> None:
    made = (
        PLAIN.surveyor({1}),
        PLAIN.key_map(Marks(1), 100, erased=frozenset(), seed=1),
        PLAIN.rewriter(plan()),
    )

    assert [type(each) for each in made] == [PlainSurveyor, PlainKeyMap, PlainRewriter]
    assert PLAIN.striders(1000) is None
