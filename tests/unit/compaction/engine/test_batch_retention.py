"""The survey of a segment: chunks and batch retentions."""

from cordwood.compaction.engine.batch_retention import BatchRetention, SegmentSurvey


def test_survey_stores_the_retention_of_each_flagged_batch() -> None:
    survey = SegmentSurvey(base_offset=0)

    survey.add_retention(0, BatchRetention.DELETE)
    survey.add_retention(70, BatchRetention.CONTROL | BatchRetention.RETAIN_EMPTY)

    assert list(survey.positions) == [0, 70]
    assert [BatchRetention(retention) for retention in survey.retentions] == [
        BatchRetention.DELETE,
        BatchRetention.CONTROL | BatchRetention.RETAIN_EMPTY,
    ]


def test_survey_numbers_records_from_chunk_to_chunk() -> None:
    survey = SegmentSurvey(base_offset=0, first_number=5)

    survey.add_chunk(size=100, batches=2, records=7)
    survey.add_chunk(size=50, batches=1, records=1)

    assert list(survey.chunk_positions) == [0, 100]
    assert list(survey.chunk_numbers) == [5, 12]
    assert (survey.size, survey.batches, survey.records) == (150, 3, 8)


def test_retentions_between_positions_are_relative_to_the_first_position() -> None:
    survey = SegmentSurvey(base_offset=0)
    for position in (0, 70, 140, 210):
        survey.add_retention(position, BatchRetention(position // 70))

    positions, retentions = survey.retentions_between(70, 210)

    assert (list(positions), list(retentions)) == ([0, 70], [1, 2])


def test_sliced_survey_has_the_chunks_of_its_range() -> None:
    survey = SegmentSurvey(7, first_number=100)
    for size, records in ((40, 2), (50, 3), (60, 4)):
        survey.add_chunk(size=size, batches=1, records=records)

    part = survey.slice_chunks(1, 2)

    assert (part.base_offset, part.first_number, part.records, part.size) == (7, 102, 3, 90)
    assert (list(part.chunk_positions), list(part.chunk_numbers)) == ([40], [102])
    last = survey.slice_chunks(1, 3)
    assert (last.records, last.size) == (7, 150)
