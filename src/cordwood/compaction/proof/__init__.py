"""Independent verification of a cleaning pass: input log, output log and plan are compared."""
