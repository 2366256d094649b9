"""`df.write.format("cordwood")`: options, columns and the tasks that produce records."""
