"""Settings that are rejected before a session begins; `tests/spark` has sessions."""

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from cordwood.core.errors import SettingError
from cordwood.spark.runtime.session import session

pytestmark = pytest.mark.spark


def test_session_rejects_a_master_under_spark_submit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pyspark.sql.SparkSession.getActiveSession", lambda: None)
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")

    with (
        pytest.raises(SettingError, match="pass --master to spark-submit"),
        session("verify", master="local"),
    ):
        pass
