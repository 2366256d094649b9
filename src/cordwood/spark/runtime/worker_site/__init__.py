"""A folder on the Python path of Spark's processes, whose `sitecustomize` Python imports."""
