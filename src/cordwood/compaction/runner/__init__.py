"""Cleaning passes in worker processes, throttled."""
