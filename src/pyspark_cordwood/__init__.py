"""The package by which Spark finds `format("cordwood")`, without a call of `register`.

Spark's first use of a Python data source imports each package on the path whose name begins with
`pyspark_`, and registers its `DefaultSource` (`pyspark.sql.worker.lookup_data_sources`). The source
itself is in `cordwood.spark`.
"""

from cordwood.spark.data_source import CordwoodSource as DefaultSource

__all__ = ("DefaultSource",)
