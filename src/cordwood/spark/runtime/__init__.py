"""Spark sessions and tasks: task runner, progress, kernel warm-up, worker Python."""
