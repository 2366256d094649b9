"""The state of a pipeline in its checkpoint."""

from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from cordwood.core.errors import SettingError
from cordwood.spark.pipeline.pipeline_definition import Pipeline, parse_pipeline
from cordwood.spark.pipeline.pipeline_state import pipeline_state, reset_pipeline

pytestmark = pytest.mark.spark


def pipeline_in(folder: Path, **more: object) -> Pipeline:
    """Return a pipeline with its checkpoint in a folder."""
    sink = {"format": "kafka", "topic": "out"}
    given = {"name": "a", "source": {"path": "logs"}, "sink": sink, **more}
    return parse_pipeline(given, folder=str(folder))


def write_checkpoint(folder: Path, *, is_finished: bool) -> None:
    """Write the checkpoint of a query with one batch."""
    place = folder / "a.checkpoint"
    for name in ("offsets", "commits"):
        (place / name).mkdir(parents=True)
    (place / "metadata").write_text('{"id": "q"}')
    (place / "offsets" / "0").write_text('v1\n{}\n{"orders": {"0": 7, "1": 5}}')
    if is_finished:
        (place / "commits" / "0").write_text("v1\n{}")


def test_pipeline_without_a_checkpoint_is_new(tmp_path: Path) -> None:
    assert pipeline_state(pipeline_in(tmp_path)).rows() == [{"PIPELINE": "a", "STATE": "new"}]


@pytest.mark.parametrize(("is_finished", "state"), ((True, "finished"), (False, "planned")))
def test_rows_have_the_next_offset_of_each_partition(
    tmp_path: Path, *, is_finished: bool, state: str
) -> None:
    write_checkpoint(tmp_path, is_finished=is_finished)

    rows = pipeline_state(pipeline_in(tmp_path)).rows()

    own = {"PIPELINE": "a", "STATE": state, "BATCH": 0, "TOPIC": "orders"}
    assert rows == [
        {**own, "PARTITION": 0, "NEXT-OFFSET": 7},
        {**own, "PARTITION": 1, "NEXT-OFFSET": 5},
    ]


def test_reset_removes_a_checkpoint_and_no_other_folder(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, is_finished=True)

    assert reset_pipeline(pipeline_in(tmp_path))
    assert not reset_pipeline(pipeline_in(tmp_path))

    (tmp_path / "a.checkpoint").mkdir()
    with pytest.raises(SettingError, match="is not the checkpoint of a query"):
        reset_pipeline(pipeline_in(tmp_path))


def test_reset_removes_what_a_running_query_has_left(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, is_finished=True)
    (tmp_path / "a.checkpoint" / "metadata").unlink()

    assert reset_pipeline(pipeline_in(tmp_path))


def test_reset_removes_no_files_of_others(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, is_finished=True)
    (tmp_path / "a.checkpoint" / "_delta_log").mkdir()

    with pytest.raises(SettingError, match=r"has more than a checkpoint \(_delta_log\)"):
        reset_pipeline(pipeline_in(tmp_path))

    assert (tmp_path / "a.checkpoint" / "metadata").exists()


@pytest.mark.parametrize("checkpoint", ("s3://bucket/a", "hdfs:/a"))
def test_checkpoint_in_another_file_system_is_rejected(tmp_path: Path, checkpoint: str) -> None:
    with pytest.raises(SettingError, match="not on a local path"):
        pipeline_state(pipeline_in(tmp_path, checkpoint=checkpoint))


@pytest.mark.parametrize("scheme", ("file:", "file://"))
def test_checkpoint_is_found_by_its_address(tmp_path: Path, scheme: str) -> None:
    write_checkpoint(tmp_path, is_finished=True)
    pipeline = pipeline_in(tmp_path, checkpoint=f"{scheme}{tmp_path}/a.checkpoint")

    assert pipeline_state(pipeline).state == "finished"
    assert reset_pipeline(pipeline)
