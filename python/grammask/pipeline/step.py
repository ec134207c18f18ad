"""What a MaskPipeline works on: a Request is one text; a Step is one round of masks for some
requests, and a RowResult what it brought for one of them.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from typing import Any, Callable, Generator, List, Optional, Union

from .._core import CompiledGrammar, GrammarMatcher
from ..exception import GrammaskError

Grammar = Union[CompiledGrammar, GrammarMatcher, "concurrent.futures.Future[Any]", None]


class Request:
    """One text of a MaskPipeline; MaskPipeline.add makes it.

    matcher: its GrammarMatcher; None without a grammar, and while one is still being compiled. Only
        touch it while no step with this request is under way.
    terminated: whether the text has ended, as far as its tokens were accepted.
    error: why it failed; None where it has not. A failed request stays so; the others go on.
    cancelled: whether cancel() was called.
    """

    def __init__(self, grammar: Grammar, options: Any) -> None:
        self.matcher: Optional[GrammarMatcher] = None
        self.terminated = False
        self.error: Optional[GrammaskError] = None
        self.cancelled = False
        self._grammar = grammar
        self._options = options
        self._waiting: List[int] = []  # tokens that came before the grammar was compiled

    @property
    def free(self) -> bool:
        """Whether the request has no grammar."""
        return self._grammar is None and self.matcher is None

    def cancel(self) -> None:
        """Gives the request up, from any thread and at any time, also while its mask is filled.

        Nothing more is done for it: what a step under way still brings of it is of no use, and no
        step may be begun with it.
        """
        self.cancelled = True

    def _prepare(self) -> bool:
        """Makes the matcher when the grammar is there; False while it is not."""
        grammar = self._grammar
        if grammar is None:
            return True
        if isinstance(grammar, concurrent.futures.Future):
            if not grammar.done():
                return False
            grammar = grammar.result()
        if isinstance(grammar, GrammarMatcher):
            self.matcher = grammar
        else:
            self.matcher = GrammarMatcher(grammar, **self._options)
        self._grammar = None
        return True


class RowResult:
    """What a step brought for one of its requests.

    request: the Request; None for a row given as None.
    rows: the rows of the mask, and of the logits, that are its own: one, and one for each draft.
    masked: whether masks were filled. Where not, its logits are left as they are.
    accepted: how many of the tokens given were accepted; those after the end are not looked at.
    drafts: how many of the drafts its grammar takes. Masks are there for those and for the token
        after them; rows of drafts beyond are not masked.
    terminated: whether the text has ended.
    late: its grammar is still being compiled: do not use its logits, give it to another step.
        Tokens given so far are kept for then.
    error: why the request failed; None where it has not.
    """

    __slots__ = ("request", "accepted", "drafts", "terminated", "late", "error",
                 "_first", "_count", "_filled")  # fmt: skip

    def __init__(self, request: Optional[Request], first: int, count: int) -> None:
        self.request = request
        self.terminated = self.late = False
        self.accepted = self.drafts = 0
        self.error: Optional[GrammaskError] = None
        self._first, self._count = first, count
        self._filled = 0  # of its rows

    @property
    def masked(self) -> bool:
        return self._filled > 0

    @property
    def rows(self) -> range:
        return range(self._first, self._first + self._count)

    def __repr__(self) -> str:
        names = ("rows", "masked", "accepted", "drafts", "terminated", "late", "error")
        return f"RowResult({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"


class Step:
    """One step under way; MaskPipeline.begin makes it. `await step` waits without blocking the
    event loop and returns what result() returns."""

    def __init__(self, index: int, requests: List[Optional[Request]], slot: Any) -> None:
        self.index = index
        self.requests = requests
        self.drafts: List[List[int]] = []  # of each request; empty where none has any
        self.rows = 0  # of the mask
        self._slot = slot
        self._tokens: Any = None  # until they are given to the job
        self._job: Any = None  # a StepJob once it has been started
        self._results: List[RowResult] = []
        self._begun = 0
        self._future: "concurrent.futures.Future[List[RowResult]]" = (
            concurrent.futures.Future()
        )
        self._future.set_running_or_notify_cancel()  # so that nobody can cancel it

    def done(self) -> bool:
        """Whether the masks are filled (and, with CUDA, their copy is started)."""
        return self._future.done()

    def result(self, timeout: Optional[float] = None) -> List[RowResult]:
        """Waits, at most `timeout` seconds, for the masks; one RowResult for each request. Raises
        TimeoutError, and what went wrong with the step as a whole."""
        try:
            return self._future.result(timeout)
        except concurrent.futures.TimeoutError:
            if self._future.done():
                raise
            raise TimeoutError(f"the masks of step {self.index} are not ready") from None

    def add_done_callback(self, call: Callable[["Step"], Any]) -> None:
        """Calls call(step) when the masks are there, on the pipeline's thread: keep it short."""
        self._future.add_done_callback(lambda _: call(self))

    def __await__(self) -> Generator[Any, None, List[RowResult]]:
        return asyncio.wrap_future(self._future).__await__()
