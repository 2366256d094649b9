"""Spark sessions and tasks: task runner, progress, worker preparation, worker Python."""
