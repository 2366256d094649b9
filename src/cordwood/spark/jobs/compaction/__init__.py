"""The job `compact`: the cleaner's passes as Spark tasks, one log or part of a log each."""
