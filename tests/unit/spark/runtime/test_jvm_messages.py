"""The standard error of the JVM of a command."""

import os

from cordwood.spark.runtime.jvm_messages import copy_lines

START = b"""WARNING: Using incubator modules: jdk.incubator.vector
Using Spark's default log4j profile: org/apache/spark/log4j2-defaults.properties
26/11/28 01:47:43 WARN Utils: Your hostname, vm, resolves to a loopback address
26/11/28 01:47:43 WARN Utils: Set SPARK_LOCAL_IP if you need to bind to another address
Setting default log level to "WARN".
To adjust logging level use sc.setLogLevel(newLevel).
26/11/28 01:47:46 WARN NativeCodeLoader: Unable to load native-hadoop library
Setting Spark log level to "ERROR".
"""
LIMIT = b"""Traceback (most recent call last):
  File "/lib/python3.11/site-packages/pyspark/daemon.py", line 264, in manager
    code = worker(sock, authenticated)
BrokenPipeError: [Errno 32] Broken pipe
"""
OTHER = b"""Traceback (most recent call last):
  File "/srv/job.py", line 2, in <module>
BrokenPipeError: [Errno 32] Broken pipe
Traceback (most recent call last):
  File "/lib/python3.11/site-packages/pyspark/daemon.py", line 264, in manager
OSError: [Errno 28] No space left on device
26/11/28 02:05:40 ERROR Executor: Exception in task 1.0 in stage 25.0 (TID 28)
Error: JAVA_HOME is not set
java.lang.OutOfMemoryError: Java heap space
without an end"""


def test_messages_of_a_start_and_of_a_limit_are_left_out_and_others_pass() -> None:
    source, given = os.pipe()
    copied, target = os.pipe()
    os.write(given, START + LIMIT + OTHER)
    os.close(given)

    copy_lines(source, target)

    with os.fdopen(copied, "rb") as lines:
        assert lines.read() == OTHER
