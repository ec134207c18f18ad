"""What the filling thread does for a step: accept the tokens of each request, then fill masks.

Rows are filled in rounds: the masks after no draft in one call for all requests, then each takes
its first draft and the masks after it are filled, and so on; at the end the drafts are rolled back.
For requests A with drafts [x, y] and B with none:

    round 0    A's row 0, B's row      then A accepts x
    round 1    A's row 1               then A accepts y
    round 2    A's row 2               then A rolls back 2

What goes wrong with one request is kept with it, and the others go on: a call for all that fails is
made again for each alone. Cost over the matcher's own work: some microseconds a row.
Tested by tests/python/test_pipeline.py.
"""

from __future__ import annotations

from typing import Any, Callable, List, Optional, Sequence, Union

from .._core import BatchGrammarMatcher, GrammarMatcher
from ..exception import GrammaskError
from .step import Request, RowResult

# Of one row: None or -1 for none, one id, or several in order.
RowTokens = Union[None, int, Sequence[int]]


def ids_of(tokens: RowTokens) -> Sequence[int]:
    if tokens is None:
        return ()
    if hasattr(tokens, "tolist"):
        tokens = tokens.tolist()  # type: ignore[union-attr]
    ids = [tokens] if isinstance(tokens, int) else tokens
    return [int(i) for i in ids if i != -1]  # type: ignore[union-attr]


def rows_of(
    requests: List[Optional[Request]], tokens: Optional[List[Any]], drafts: List[Sequence[int]]
) -> List[RowResult]:
    """The rows of a step, with nothing done yet. `drafts` is empty where no row has any."""
    count = len(requests)
    given = tokens if tokens is not None else [None] * count
    if not drafts:
        return [RowResult(requests[i], i, given[i], ()) for i in range(count)]
    rows, first = [], 0
    for i in range(count):
        rows.append(RowResult(requests[i], first, given[i], drafts[i]))
        first += 1 + len(drafts[i])
    return rows


def accept(row: RowResult, check: Callable[[Request], None]) -> None:
    """Takes a row's tokens; sets its matcher where there is a mask to fill. `check` looks at a
    grammar that has just been compiled."""
    request = row.request
    if request is None or request.cancelled:
        return
    try:
        if request.error is None:
            _take(row, request, check)
    except Exception as error:
        request.error = _as_error(error)
    row.terminated = request.terminated
    row.error = request.error


def _take(row: RowResult, request: Request, check: Callable[[Request], None]) -> None:
    tokens = row._tokens
    if request._grammar is not None:
        if not request._prepare():
            row.late = True
            request._waiting += ids_of(tokens)
            return
        check(request)
        tokens = request._waiting + list(ids_of(tokens))
        request._waiting = []
    matcher = request.matcher
    if matcher is None or request.terminated:  # tokens sampled before the loop knew do not count
        return
    if type(tokens) is int and tokens != -1:
        if not matcher.accept_token(tokens):
            raise _refusal(matcher, tokens)
        row.accepted = 1
    elif tokens is not None:
        for token in ids_of(tokens):
            if matcher.is_terminated():
                break
            if not matcher.accept_token(token):
                raise _refusal(matcher, token)
            row.accepted += 1
    if matcher.is_terminated():
        request.terminated = True
    else:
        row._matcher = matcher


def fill_rows(batch: BatchGrammarMatcher, rows: List[RowResult], mask: Any) -> None:
    """Fills the masks of all rows: first those after no draft, then those after the first, and so
    on, each round in one call for all. Rows that nothing fills allow everything."""
    live = [row for row in rows if row._matcher is not None]
    _fill_round(batch, live, mask, 0)
    drafting = [row for row in live if row._drafts]
    if drafting:
        _fill_drafts(batch, drafting, mask)
    unfilled = [row._first for row in rows if not row._filled]
    for row in rows:
        if row._drafts:
            unfilled += row.rows[max(row._filled, 1) :]
    if unfilled:
        mask[unfilled] = -1


def _fill_drafts(batch: BatchGrammarMatcher, rows: List[RowResult], mask: Any) -> None:
    steps = [row._matcher.num_steps for row in rows]  # type: ignore[union-attr]
    live, depth = rows, 0
    while live:
        after = [row for row in live if _take_draft(row, depth)]
        depth += 1
        _fill_round(batch, after, mask, depth)
        live = after
    for row, before in zip(rows, steps):
        try:
            matcher = row._matcher
            matcher.rollback(matcher.num_steps - before)  # type: ignore[union-attr]
        except Exception as error:
            _fail(row, error)


def _take_draft(row: RowResult, depth: int) -> bool:
    """Takes a draft; True where there is a mask after it to fill."""
    matcher = row._matcher
    if depth >= len(row._drafts) or row._filled <= depth or row.request.cancelled:
        return False
    if not matcher.accept_token(row._drafts[depth]):
        return False
    row.drafts += 1
    return not matcher.is_terminated()


def _fill_round(batch: BatchGrammarMatcher, rows: List[RowResult], mask: Any, depth: int) -> None:
    if not rows:
        return
    places = [row._first + depth for row in rows]
    try:
        batch.batch_fill_next_token_bitmask([row._matcher for row in rows], mask, places)
    except Exception:  # of one, or of all: each by itself tells
        for row, place in zip(rows, places):
            try:
                row._matcher.fill_next_token_bitmask(mask, place)
                row._filled += 1
            except Exception as error:
                _fail(row, error)
    else:
        for row in rows:
            row._filled += 1


def _fail(row: RowResult, error: Exception) -> None:
    row.error = row.request.error = _as_error(error)  # type: ignore[union-attr]
    row._filled = 0


def _refusal(matcher: GrammarMatcher, token: int) -> GrammaskError:
    return GrammaskError(
        f"the grammar refuses token {token} after {matcher.num_steps} tokens; it was not sampled "
        "from logits that its mask was applied to",
        code="failed_precondition",
    )


def _as_error(error: Exception) -> GrammaskError:
    if isinstance(error, GrammaskError):
        return error
    wrapped = GrammaskError(f"{type(error).__name__}: {error}", code="internal")
    wrapped.__cause__ = error
    return wrapped
