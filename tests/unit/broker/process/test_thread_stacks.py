"""Tests of the stacks of all threads."""

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Final

import pytest

from cordwood.broker.process.thread_stacks import Call, ThreadStacks, parsed


@pytest.fixture
def stacks() -> Iterator[ThreadStacks]:
    with closing(ThreadStacks()) as made:
        yield made


def wait_for(is_over: threading.Event) -> None:
    is_over.wait()


def test_dump_is_parsed_into_the_calls_of_each_thread() -> None:
    dump = """Thread 0x00007f01 (most recent call first):
  File "/a b.py", line 3 in inner
  File "<string>", line ??? in outer

Current thread 0x00007f02 (most recent call first):
  <no Python frame>
"""

    calls = [Call("outer", "<string>", "???"), Call("inner", "/a b.py", "3")]
    assert parsed(dump) == {0x7F01: calls, 0x7F02: []}


def test_waiting_thread_has_its_calls(stacks: ThreadStacks) -> None:
    is_over = threading.Event()
    thread = threading.Thread(target=wait_for, args=(is_over,))
    thread.start()
    assert thread.ident is not None

    functions = [each.function for each in stacks.read()[thread.ident]]
    is_over.set()
    thread.join()

    assert functions.index("run") < functions.index("wait_for") < functions.index("wait")


def test_second_look_has_nothing_of_the_first(stacks: ThreadStacks) -> None:
    first, second = (stacks.read()[threading.get_ident()] for _ in range(2))

    assert first == second


#: A thread returns from its calls during a garbage collection in the look at its stack. The
#: memory of that many calls is unmapped then.
SCENE: Final = """
import gc, resource, sys, threading
from cordwood.broker.process.thread_stacks import ThreadStacks

has_entered, may_return, has_returned, is_over = (threading.Event() for _ in range(4))

def nested(depth):
    if depth:
        return nested(depth - 1)
    has_entered.set()
    may_return.wait()

def looked_at():
    nested(400)
    has_returned.set()
    is_over.wait()

def let_it_return(phase, info):
    if threading.current_thread() is not thread and not may_return.is_set():
        may_return.set()
        has_returned.wait()

def look():
    stacks.read()

def look_by_frames():
    frame = sys._current_frames()[thread.ident]
    gc.set_threshold(1)
    while frame:
        frame = frame.f_back

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
gc.collect()
stacks, thread = ThreadStacks(), threading.Thread(target=looked_at)
thread.start()
has_entered.wait()
gc.callbacks.append(let_it_return)
gc.set_threshold(1 if LOOK is look else 700)
LOOK()
is_over.set()
thread.join()
"""


def code_of(look: str) -> int:
    """Return the code with which the process of a scene ends."""
    return subprocess.run(
        [sys.executable, "-c", SCENE.replace("LOOK", look)], check=False
    ).returncode


def test_look_is_safe_from_a_garbage_collection() -> None:
    assert code_of("look") == 0


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="collects between two instructions only")
def test_scene_ends_a_process_that_looks_by_frames() -> None:
    assert code_of("look_by_frames") == -signal.SIGSEGV
