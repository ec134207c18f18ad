"""How the commands show things: text, places in documents, times, progress."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import List, Optional, Sequence, TextIO, Tuple, Type


def show_bytes(data: bytes) -> str:
    """Bytes as a quoted text: what is not UTF-8 as \\xNN, control characters escaped."""
    text = data.decode("utf-8", errors="backslashreplace")
    out = []
    for character in text:
        if character == '"':
            out.append('\\"')
        elif character.isprintable():
            out.append(character)
        else:
            out.append(character.encode("unicode_escape").decode())
    return '"' + "".join(out) + '"'


def duration(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{seconds * 1e6:.1f} us"
    if seconds < 1:
        return f"{seconds * 1e3:.1f} ms"
    return f"{seconds:.2f} s"


def size(count: int) -> str:
    if count < 10_000:
        return f"{count} bytes"
    if count < 10_000_000:
        return f"{count / 1e3:.0f} kB"
    return f"{count / 1e6:.1f} MB"


def percentile(values: Sequence[float], part: float) -> float:
    """The value below which `part` of the values lie (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def mask_times(times: Sequence[float]) -> str:
    if not times:
        return "no masks"
    return (
        f"{len(times)} masks: median {duration(percentile(times, 0.5))}, "
        f"p99 {duration(percentile(times, 0.99))}, max {duration(max(times))}"
    )


def place(document: bytes, offset: int) -> Tuple[int, int, str, str]:
    """Line, column (both from 1, columns in characters), the line's text around the place, and a
    line with a caret below it."""
    start = document.rfind(b"\n", 0, offset) + 1
    end = document.find(b"\n", offset)
    end = len(document) if end < 0 else end
    before = document[start:offset].decode("utf-8", errors="replace")
    after = document[offset:end].decode("utf-8", errors="replace")
    line = document.count(b"\n", 0, offset) + 1
    column = len(before) + 1
    shown_before = before if len(before) <= 60 else "..." + before[-57:]
    shown_after = after if len(after) <= 30 else after[:27] + "..."
    shown = "".join(c if c.isprintable() else " " for c in shown_before + shown_after)
    return line, column, shown, " " * len(shown_before) + "^"


class Progress:
    """Says on stderr, after two seconds and then every five, what is still going on.

    with Progress("loading the tokenizer") as progress:
        ...
        progress.note = "3 of 10"
    """

    def __init__(self, what: str, stream: Optional[TextIO] = None) -> None:
        self.note = ""
        self._what = what
        self._stream = stream
        self._done = threading.Event()
        self._thread: Optional[threading.Thread] = None

    def __enter__(self) -> "Progress":
        self._thread = threading.Thread(target=self._report, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()

    def _report(self) -> None:
        start = time.monotonic()
        wait = 2.0
        while not self._done.wait(wait):
            wait = 5.0
            note = f", {self.note}" if self.note else ""
            stream = self._stream or sys.stderr
            print(
                f"grammask: {self._what}{note} ({time.monotonic() - start:.0f} s)",
                file=stream,
                flush=True,
            )


def table(rows: Sequence[Tuple[str, str]]) -> str:
    """Two columns, the first as wide as its widest entry."""
    width = max((len(name) for name, _ in rows), default=0)
    lines: List[str] = [f"{name:<{width}}  {value}" for name, value in rows]
    return "\n".join(lines)
