"""Between the requests of a step and the StepJob that accepts their tokens and fills their masks.

`start` says which matcher takes part with what, and keeps apart what is known without the job: rows
without a grammar, requests that were cancelled, have failed or ended, or whose grammar is not there
yet. `finish` writes what the job says into the RowResults and the requests. Both are short, as they
hold the GIL: about half a microsecond a row. Tested by tests/python/test_pipeline.py.
"""

from __future__ import annotations

from typing import Any, Callable, List, Optional, Sequence, Tuple, Union

from .._core import GrammarMatcher
from ..exception import GrammaskError
from .step import Request, RowResult, Step

# Of one row: None or -1 for none, one id, or several in order.
RowTokens = Union[None, int, Sequence[int]]


def ids_of(tokens: RowTokens) -> List[int]:
    if tokens is None:
        return []
    if hasattr(tokens, "tolist"):
        tokens = tokens.tolist()  # type: ignore[union-attr]
    ids = [tokens] if isinstance(tokens, int) else tokens
    return [int(i) for i in ids if i != -1]  # type: ignore[union-attr]


def start(step: Step, tokens: Any, runner: Any, check: Callable[[Request], None]) -> None:
    """Starts the job of a step. `check` looks at a grammar that has just been compiled."""
    given = _token_list(tokens, len(step.requests))
    drafts = step.drafts
    matchers: List[Optional[GrammarMatcher]] = []
    firsts: List[int] = []
    results: List[RowResult] = []
    waiting: List[Tuple[Request, List[int]]] = []
    first = 0
    for i, request in enumerate(step.requests):
        row = RowResult(request, first, 1 + len(drafts[i]) if drafts else 1)
        firsts.append(first)
        first += row._count
        results.append(row)
        matcher = None
        if request is not None and not request.cancelled:
            if request._grammar is not None and request.error is None:
                row.late = not _admit(request, check)
            if request._waiting or row.late:
                ids = request._waiting + (ids_of(given[i]) if given is not None else [])
                waiting.append((request, ids if row.late else []))
                given = given or [None] * len(step.requests)
                given[i] = ids
            row.error = request.error
            row.terminated = request.terminated
            if row.error is None and not row.terminated:
                matcher = request.matcher  # None while it is late
        matchers.append(matcher)
    step._job = runner.begin(matchers, given, drafts or None, firsts, step._slot.mask)
    step._results = results
    for request, ids in waiting:
        request._waiting = ids


def finish(step: Step) -> List[RowResult]:
    """Waits for the job of a step, without the GIL, and tells what came of it."""
    step._job.wait()
    for row, result in zip(step._results, step._job.results()):
        row.accepted, row.drafts, row._filled, terminated, error = result
        if terminated:
            row.terminated = row.request.terminated = True  # type: ignore[union-attr]
        if error is not None:
            row.error = row.request.error = error  # type: ignore[union-attr]
    return step._results


def check_count(what: str, given: int, requests: int) -> None:
    if given != requests:
        raise GrammaskError(f"there are {requests} requests but {what} for {given}")


def _token_list(tokens: Any, count: int) -> Optional[List[Any]]:
    if tokens is None:
        return None
    if hasattr(tokens, "tolist"):
        tokens = tokens.tolist()
    given = list(tokens)
    check_count("tokens", len(given), count)
    return given


def _admit(request: Request, check: Callable[[Request], None]) -> bool:
    """Whether the grammar that was still to come is there; it may have failed."""
    try:
        if not request._prepare():
            return False
        check(request)
    except GrammaskError as error:
        request.error = error
    except Exception as error:
        request.error = GrammaskError(f"{type(error).__name__}: {error}", code="internal")
        request.error.__cause__ = error
    return True
