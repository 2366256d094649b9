"""The broker as a process: memory and GC tuning, loop watchdog, periodic tasks, `/metrics`."""
