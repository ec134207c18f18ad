"""What the filling thread does for a step: accept the tokens of each request, then fill masks.

Rows are filled in rounds: the masks after no draft in one call for all requests, then each takes its
first draft and the masks after it are filled, and so on; at the end the drafts are rolled back. For
requests A with drafts [x, y] and B with none:

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


def ids_of(tokens: RowTokens) -> List[int]:
    if tokens is None:
        return []
    if hasattr(tokens, "tolist"):
        tokens = tokens.tolist()  # type: ignore[union-attr]
    ids = [tokens] if isinstance(tokens, int) else tokens
    return [int(i) for i in ids if i != -1]  # type: ignore[union-attr]


def first_rows(drafts: List[List[int]]) -> List[int]:
    firsts, row = [], 0
    for proposed in drafts:
        firsts.append(row)
        row += 1 + len(proposed)
    return firsts


class Row:
    """A request within a step, on the filling thread."""

    def __init__(
        self, request: Optional[Request], first: int, drafts: List[int], tokens: List[int]
    ) -> None:
        self.request, self.first, self.drafts, self.tokens = request, first, drafts, tokens
        self.matcher: Optional[GrammarMatcher] = None  # of a row to be filled
        self.masked = self.late = False
        self.accepted = self.drafted = 0

    def accept(self, check: Callable[[Request], None]) -> None:
        """Takes the tokens; sets `matcher` where there is a mask to fill. `check` looks at a grammar
        that has just been compiled."""
        request = self.request
        if request is None or request.cancelled or request.error is not None:
            return
        try:
            if request._grammar is not None:
                if not request._prepare():
                    self.late = True
                    request._waiting += self.tokens
                    return
                check(request)
            matcher = request.matcher
            if matcher is None:
                return
            waiting, request._waiting = request._waiting, []
            for token in waiting + self.tokens:
                if matcher.is_terminated():  # sampled before the loop knew
                    break
                if not matcher.accept_token(token):
                    raise GrammaskError(_refusal(matcher, token), code="failed_precondition")
                self.accepted += 1
            request.terminated = matcher.is_terminated()
            if not request.terminated:
                self.matcher = matcher
        except Exception as error:
            request.error = _as_error(error)

    def fail(self, error: Exception) -> None:
        assert self.request is not None
        self.request.error = _as_error(error)
        self.matcher = None
        self.masked = False

    @property
    def rows(self) -> range:
        return range(self.first, self.first + 1 + len(self.drafts))

    def result(self) -> RowResult:
        request = self.request
        return RowResult(
            request,
            self.rows,
            self.masked,
            self.accepted,
            self.drafted,
            request is not None and request.terminated,
            self.late,
            None if request is None else request.error,
        )


def fill_rows(batch: BatchGrammarMatcher, rows: List[Row], mask: Any) -> None:
    """Fills the masks of all rows: first those after no draft, then those after the first, and so
    on, each round in one call for all. Rows that nothing fills allow everything."""
    unfilled = {i for row in rows for i in row.rows}
    steps = {id(row): row.matcher.num_steps for row in rows if row.matcher is not None}
    live = [row for row in rows if row.matcher is not None]
    depth = 0
    try:
        while live:
            live = [row for row in live if not row.request.cancelled]
            _fill_round(batch, live, mask, depth)
            filled = [row for row in live if row.masked]
            unfilled -= {row.first + depth for row in filled}
            live = []
            for row in filled:
                # A draft that is refused, or that ends the text: no mask after it.
                if depth < len(row.drafts) and row.matcher.accept_token(row.drafts[depth]):
                    row.drafted += 1
                    if not row.matcher.is_terminated():
                        live.append(row)
            depth += 1
    finally:
        for row in rows:
            if row.drafted:
                _take_back(row, steps[id(row)])
    for row in rows:
        if row.request is not None and row.request.error is not None:
            unfilled.update(row.rows)
    if unfilled:
        mask[sorted(unfilled)] = -1


def _take_back(row: Row, steps: int) -> None:
    assert row.request is not None and row.request.matcher is not None
    matcher = row.request.matcher
    try:
        matcher.rollback(matcher.num_steps - steps)
    except Exception as error:
        row.fail(error)


def _fill_round(batch: BatchGrammarMatcher, rows: List[Row], mask: Any, depth: int) -> None:
    places = [row.first + depth for row in rows]
    try:
        batch.batch_fill_next_token_bitmask([row.matcher for row in rows], mask, places)
    except Exception:  # of one, or of all: each by itself tells
        for row, place in zip(rows, places):
            try:
                row.matcher.fill_next_token_bitmask(mask, place)
                row.masked = True
            except Exception as error:
                row.fail(error)
    else:
        for row in rows:
            row.masked = True


def _refusal(matcher: GrammarMatcher, token: int) -> str:
    return (
        f"the grammar refuses token {token} after {matcher.num_steps} tokens; it was not sampled "
        "from logits that its mask was applied to"
    )


def _as_error(error: Exception) -> GrammaskError:
    if isinstance(error, GrammaskError):
        return error
    wrapped = GrammaskError(f"{type(error).__name__}: {error}", code="internal")
    wrapped.__cause__ = error
    return wrapped
