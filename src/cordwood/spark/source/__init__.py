"""`spark.read.format("cordwood")`: options, offset resolution, splits and the tasks that read
them.
"""
