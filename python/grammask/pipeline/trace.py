"""Spans of time by thread and step, in a bounded buffer, written as a Chrome trace.

The newest `limit` spans are kept. chrome://tracing and ui.perfetto.dev open the file. Recording
takes about a microsecond a span and no lock. Tested by tests/python/test_pipeline.py.
"""

from __future__ import annotations

import collections
import json
import os
import threading
import time
from typing import Any, Deque, Dict, List, NamedTuple, Optional, Union


class Span(NamedTuple):
    """What was done, where, for which step, and when (time.perf_counter_ns)."""

    name: str
    lane: str  # the thread, or "forward pass"
    step: int
    begin: int
    end: int


class Trace:
    """The last `limit` spans. Thread-safe."""

    def __init__(self, limit: int) -> None:
        self._spans: Deque[Span] = collections.deque(maxlen=limit)

    def add(
        self, name: str, step: int, begin: int, end: int, lane: Optional[str] = None
    ) -> None:
        """A span of this thread, or of the lane named."""
        self._spans.append(Span(name, lane or threading.current_thread().name, step, begin, end))

    def span(self, name: str, step: int) -> "_Running":
        """A context manager: a span around what is done inside."""
        return _Running(self, name, step)

    def spans(self) -> List[Span]:
        """The spans kept, in the order in which they ended."""
        return list(self._spans)

    def write(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the spans in the Trace Event Format (JSON, times in microseconds)."""
        lanes: Dict[str, int] = {}
        events: List[Dict[str, Any]] = []
        pid = os.getpid()
        for span in self.spans():
            events.append(
                {
                    "name": span.name,
                    "cat": "grammask",
                    "ph": "X",
                    "ts": span.begin / 1e3,
                    "dur": (span.end - span.begin) / 1e3,
                    "pid": pid,
                    "tid": lanes.setdefault(span.lane, len(lanes) + 1),
                    "args": {"step": span.step},
                }
            )
        for lane, tid in lanes.items():
            events.append(
                {"name": "thread_name", "ph": "M", "pid": pid, "tid": tid, "args": {"name": lane}}
            )
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": events, "displayTimeUnit": "ms"}, file)


class _Running:
    def __init__(self, trace: Trace, name: str, step: int) -> None:
        self._trace, self._name, self._step = trace, name, step

    def __enter__(self) -> None:
        self._begin = time.perf_counter_ns()

    def __exit__(self, *_: Any) -> None:
        self._trace.add(self._name, self._step, self._begin, time.perf_counter_ns())
