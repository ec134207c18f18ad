"""Follows rows of token ids from call to call, and keeps a matcher for each.

A logits processor is called with the whole text of every row at every step, and is told nothing
else: not that a call of generate() begins, nor how beams were reordered, nor which drafts were
dropped. Here each row is matched with what was seen before by its tokens:

    seen before          now                    what is done
    [p p a]              [p p a b]              accept b
    [p p a], [p p b]     [p p b c], [p p b d]   beams: two forks of the second, accept c and d
    [p p a b c]          [p p a x]              drafts dropped: roll back 2 steps, accept x
    [p p a b]            [q q q]                another prompt: a new generation

Cost: one comparison of the ids with those of the last call on their device and one transfer of the
new ones, a step of the matcher for each new token. Rows that moved are looked up by their bytes.
Tested by tests/python/test_hf.py.
"""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from .._core import CompiledGrammar, GrammarMatcher
from ..exception import GrammaskError


class Row:
    """One row: its matcher (None: no grammar), and where it left the grammar (None: nowhere)."""

    __slots__ = ("matcher", "left_at")

    def __init__(self, matcher: Optional[GrammarMatcher], left_at: Optional[int] = None) -> None:
        self.matcher = matcher
        self.left_at = left_at  # tokens after the prompt that were accepted before the refused one

    def fork(self) -> "Row":
        return Row(None if self.matcher is None else self.matcher.fork(), self.left_at)

    @property
    def ended(self) -> bool:
        """Whether nothing but stop tokens may follow."""
        return self.matcher is not None and (
            self.left_at is not None or self.matcher.is_terminated()
        )

    def go_back_to(self, steps: int) -> None:
        if self.matcher is None:
            return
        self.matcher.rollback(max(0, self.matcher.num_steps - steps))
        if self.left_at is not None and self.left_at >= steps:
            self.left_at = None

    def accept(self, tokens: Sequence[int]) -> int:
        """Takes tokens until one is refused or the text has ended; returns how many were taken."""
        if self.matcher is None:
            return len(tokens)
        for taken, token in enumerate(tokens):
            if self.ended:
                return taken
            if not self.matcher.accept_token(token):
                self.left_at = self.matcher.num_steps
                return taken
        return len(tokens)


class Refusal(NamedTuple):
    """A token that a row got although its grammar refuses it there."""

    row: int
    token: int
    position: int  # column of input_ids


class _Move(NamedTuple):
    source: int  # the row of the last call that this one goes on from
    common: int  # how many ids the two share
    tokens: List[int]  # those after


class RowFollower:
    """Matchers for the rows of one generation after another. Not thread-safe."""

    def __init__(
        self,
        grammars: Sequence[Optional[CompiledGrammar]],
        override_stop_tokens: Optional[Union[List[int], int]] = None,
    ) -> None:
        self._grammars = list(grammars)
        self._stop = override_stop_tokens
        self.reset()

    def reset(self) -> None:
        """The next call begins a generation, whatever its ids are."""
        self.rows: List[Row] = []
        self._history: Any = None  # ids of the last call, in a buffer with room for more
        self._length = 0
        self.prompt_length = 0  # columns that were there when the generation began

    def follow(self, input_ids: Any) -> List[Refusal]:
        """Brings `rows` to what input_ids (rows, length) says; returns tokens newly refused."""
        moves = self._moves(input_ids)
        if moves is None:
            self._begin(input_ids)
            return []
        refusals = self._make(moves)
        if refusals is None:
            self._begin(input_ids)
            return []
        self._remember(input_ids)
        return refusals

    def shares_prompt(self, row: int) -> bool:
        """Whether another row began with the same prompt, as beams of one text do."""
        prompts = self._history[:, : self.prompt_length]
        return int((prompts == prompts[row]).all(dim=1).sum()) > 1

    def _begin(self, input_ids: Any) -> None:
        count = int(input_ids.shape[0])
        kinds = len(self._grammars)
        if count % kinds != 0:
            raise GrammaskError(
                f"input_ids have {count} rows for {kinds} grammars; give one grammar for all rows, "
                "or one for each text of the batch (beams and num_return_sequences repeat it)"
            )
        self.reset()
        for row in range(count):
            self.rows.append(Row(self._matcher(self._grammars[self._kind(row, count)])))
        self.prompt_length = int(input_ids.shape[1])
        self._remember(input_ids)

    def _matcher(self, grammar: Optional[CompiledGrammar]) -> Optional[GrammarMatcher]:
        if grammar is None:
            return None
        return GrammarMatcher(grammar, override_stop_tokens=self._stop)

    def _kind(self, row: int, count: int) -> int:
        return row // (count // len(self._grammars))

    def _remember(self, input_ids: Any) -> None:
        count, length = map(int, input_ids.shape)
        if self._history is None or self._history.shape[1] < length:
            self._history = input_ids.new_empty((count, 2 * length + 64))
        self._history[:, :length] = input_ids
        self._length = length

    def _moves(self, input_ids: Any) -> Optional[List[_Move]]:
        """How each row came about; None where this is another generation."""
        count, length = map(int, input_ids.shape)
        history = self._history
        if (
            history is None
            or count != len(self.rows)
            or length < self.prompt_length
            or history.device != input_ids.device
            or history.dtype != input_ids.dtype
        ):
            return None
        known = min(length, self._length)
        same = (input_ids[:, :known] == history[:, :known]).all(dim=1, keepdim=True)
        # One transfer: whether the row goes on where it was, and its new tokens.
        fresh = same.to(input_ids.dtype).new_empty((count, 1 + length - known))
        fresh[:, :1] = same
        fresh[:, 1:] = input_ids[:, known:]
        table = fresh.tolist()
        moves = [_Move(i, known, line[1:]) for i, line in enumerate(table)]
        moved = [i for i, line in enumerate(table) if not line[0]]
        if not moved:
            return moves
        now = input_ids.cpu().numpy()
        before = history[:, : self._length].cpu().numpy()
        if not (now[moved, : self.prompt_length] == before[moved, : self.prompt_length]).all():
            return None
        places: Dict[Tuple[int, bytes], int] = {}
        for j in range(count):
            places.setdefault((self._kind(j, count), before[j, :known].tobytes()), j)
        for i in moved:
            source = places.get((self._kind(i, count), now[i, :known].tobytes()))
            if source is not None:
                moves[i] = _Move(source, known, moves[i].tokens)
            else:
                common = int((now[i, :known] != before[i, :known]).argmax())
                moves[i] = _Move(i, common, now[i, common:].tolist())
        return moves

    def _make(self, moves: List[_Move]) -> Optional[List[Refusal]]:
        """Carries the moves out; None where all rows say that this is another generation: each got
        what its grammar does not take, and not one token after what was seen last, as when a prompt
        holds the last output and a new question."""
        uses = [0] * len(self.rows)
        for move in moves:
            uses[move.source] += 1
        rows: List[Row] = []
        refusals: List[Refusal] = []
        foreign, followed = 0, 0
        for i, move in enumerate(moves):
            source = self.rows[move.source]
            row = source if uses[move.source] == 1 else source.fork()
            rows.append(row)
            if row.matcher is None:
                continue
            followed += 1
            row.go_back_to(move.common - self.prompt_length)
            had_left = row.left_at is not None
            taken = row.accept(move.tokens)
            if row.left_at is not None and not had_left:
                refusals.append(Refusal(i, move.tokens[taken], move.common + taken))
            several = len(move.tokens) >= 2 or move.common < self._length
            if taken < len(move.tokens) and several:
                foreign += 1
        if followed and foreign == followed:
            return None
        self.rows = rows
        return refusals
