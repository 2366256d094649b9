"""The package's own functions."""

from cordwood.spark import jobs


def test_package_offers_its_jobs_without_importing_spark() -> None:
    assert {"verify"} <= set(jobs.__all__)
