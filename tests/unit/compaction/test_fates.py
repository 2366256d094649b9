"""What is written down of batches."""

from cordwood.compaction.fates import Fate, SegmentSurvey


def test_survey_keeps_batches_with_their_fates() -> None:
    survey = SegmentSurvey(base_offset=0)

    survey.add(0, Fate.DROPPED)
    survey.add(70, Fate.CONTROL | Fate.KEPT_IF_EMPTY)

    assert list(survey.positions) == [0, 70]
    assert [Fate(fate) for fate in survey.fates] == [
        Fate.DROPPED,
        Fate.CONTROL | Fate.KEPT_IF_EMPTY,
    ]
