"""Spark sessions and tasks: task runner, progress, worker warm-up, worker Python."""
