"""grammask.contrib.hf.LogitsProcessor: makes generate() of transformers follow a grammar.

    from grammask.contrib.hf import LogitsProcessor

    tokenizer_info = grammask.TokenizerInfo.from_huggingface(
        tokenizer, vocab_size=model.config.vocab_size)
    compiled = grammask.GrammarCompiler(tokenizer_info).compile_json_schema(schema)
    processor = LogitsProcessor(compiled)
    output = model.generate(**inputs, logits_processor=[processor])

Needs torch and transformers. Tested by tests/python/test_hf.py.
"""

from __future__ import annotations

from typing import Any, List, Literal, Optional, Sequence, Union

import torch
import transformers

from .._core import BatchGrammarMatcher, CompiledGrammar, GrammarMatcher
from ..bitmask import apply_token_bitmask_inplace, get_bitmask_shape
from ..exception import GrammaskError
from ._rows import Refusal, RowFollower

_Grammars = Union[CompiledGrammar, Sequence[Optional[CompiledGrammar]]]


class LogitsProcessor(transformers.LogitsProcessor):
    """Sets the scores of tokens that a grammar refuses to minus infinity, for generate().

    LogitsProcessor(compiled_grammar, *, override_stop_tokens=None, on_refused="error",
                    max_threads="auto", inplace=False)

    compiled_grammar: a CompiledGrammar for all rows, or a list with one for each text of the batch;
        None in the list leaves that text free. Rows that generate() makes of one text (beams,
        num_return_sequences) share its grammar. All grammars must be of one vocabulary.
    override_stop_tokens: an id or a list of ids that stop a text, instead of the tokenizer's; those
        that generate() stops at (its eos_token_id) are needed.
    on_refused: what to do when a row got a token that its grammar refuses, which another processor
        must have forced. "error" raises GrammaskError; "stop" lets only stop tokens follow, which
        also suits drafts that were made without this processor.
    max_threads: for filling masks, as of BatchGrammarMatcher.
    inplace: write into the scores given instead of a copy. Saves a copy; wrong where the caller
        keeps the scores (output_logits=True, prompt lookup).

    Greedy search, sampling, beam search and assisted generation are followed by the tokens of each
    row: beams may be reordered, drafts taken back, several tokens may come at once. Prompts may
    have any padding. After the end of a text only stop tokens are allowed in its row.

    One object serves any number of generate() calls, one after another. That a new one began is
    seen by its prompt: another number of rows, or ids that do not continue those of the last call.
    Where a prompt is the last prompt, its output so far, and no more (going on after
    max_new_tokens), the text goes on; call reset() before generate() if a new text is meant.

    Not thread-safe. Scores may be float16, bfloat16, float32 or float64, on any device, and wider
    than the vocabulary (columns beyond it are refused).
    """

    supports_continuous_batching = False

    def __init__(
        self,
        compiled_grammar: _Grammars,
        *,
        override_stop_tokens: Optional[Union[List[int], int]] = None,
        on_refused: Literal["error", "stop"] = "error",
        max_threads: Union[int, Literal["auto"]] = "auto",
        inplace: bool = False,
    ) -> None:
        if on_refused not in ("error", "stop"):
            raise GrammaskError(f'on_refused is {on_refused!r}; it must be "error" or "stop"')
        self._grammars = _check_grammars(compiled_grammar)
        first = next(grammar for grammar in self._grammars if grammar is not None)
        info = first.tokenizer_info
        self._vocab_size = info.vocab_size
        # Never part of a text, so that one that is refused is padding of a row that has ended.
        self._no_text = {*info.special_token_ids, *info.stop_token_ids}
        if override_stop_tokens is not None:
            # Refused here, and not in the middle of a generation.
            GrammarMatcher(first, override_stop_tokens=override_stop_tokens)
        self._on_refused = on_refused
        self._inplace = inplace
        self._batch = BatchGrammarMatcher(max_threads)
        self._follower = RowFollower(self._grammars, override_stop_tokens)
        self._mask: Optional[torch.Tensor] = None

    def reset(self) -> None:
        """Forgets the texts followed so far: the next call begins new ones."""
        self._follower.reset()

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Returns the scores (rows, columns) with refused tokens at minus infinity.

        input_ids: (rows, length), the texts so far. Raises GrammaskError for shapes that do not
        fit, for scores narrower than the vocabulary, for a token that on_refused does not allow,
        and where no token of the vocabulary can continue a text; the next call then begins anew.
        """
        try:
            self._check_shapes(input_ids, scores)
            for refusal in self._follower.follow(input_ids):
                self._handle(refusal, scores)
            mask = self._fill(scores)
        except Exception:
            self.reset()
            raise
        if not self._inplace:
            scores = scores.clone()
        if scores.device.type != "cpu":
            mask = mask.to(scores.device, non_blocking=True)
        apply_token_bitmask_inplace(scores, mask)
        return scores

    def _check_shapes(self, input_ids: torch.Tensor, scores: torch.Tensor) -> None:
        if input_ids.dim() != 2 or scores.dim() != 2 or input_ids.shape[0] != scores.shape[0]:
            raise GrammaskError(
                f"input_ids of shape {tuple(input_ids.shape)} and scores of shape "
                f"{tuple(scores.shape)} do not fit; (rows, length) and (rows, columns) are needed"
            )
        if scores.shape[1] < self._vocab_size:
            raise GrammaskError(
                f"scores have {scores.shape[1]} columns, but the grammar was compiled for a "
                f"vocabulary of {self._vocab_size} tokens; make its TokenizerInfo with "
                f"vocab_size={scores.shape[1]} (the model's config.vocab_size)"
            )

    def _handle(self, refusal: Refusal, scores: torch.Tensor) -> None:
        # Padding comes after a token, of which another criterion said that it was the row's last.
        padding = refusal.token in self._no_text and refusal.position > self._follower.prompt_length
        if self._on_refused == "stop" or padding:
            return
        # Beam search fills up with refused tokens, of score minus infinity, where the texts allow
        # fewer continuations than there are beams. Its scores are logarithms of probabilities.
        row = scores[refusal.row].float()
        if self._follower.shares_prompt(refusal.row) and float(row.logsumexp(0)) < 1e-2:
            return
        raise GrammaskError(
            f"row {refusal.row} got token {refusal.token} at position {refusal.position}, which "
            "its grammar refuses there; something else chose it, such as forced tokens or a processor "
            "that runs later. Remove that, or give on_refused='stop'. If this is a new generation "
            "whose prompt continues the last text, call reset() before it.",
            code="failed_precondition",
        )

    def _fill(self, scores: torch.Tensor) -> torch.Tensor:
        rows = self._follower.rows
        mask = self._buffer(len(rows), scores)
        words = get_bitmask_shape(1, self._vocab_size)[1]
        matchers, indices = [], []
        for i, row in enumerate(rows):
            if row.matcher is None:
                mask[i] = -1
            elif row.ended:
                _allow_only(mask[i], row.matcher.stop_token_ids)
            else:
                mask[i, words:] = 0
                matchers.append(row.matcher)
                indices.append(i)
        if matchers:
            self._batch.batch_fill_next_token_bitmask(matchers, mask[:, :words], indices)
            dead = (~mask.any(dim=1)).nonzero()
            if len(dead):
                raise GrammaskError(
                    f"no token of the vocabulary can continue row {int(dead[0])}; a vocabulary "
                    "needs a token for every byte that its grammars use",
                    code="failed_precondition",
                )
        return mask

    def _buffer(self, rows: int, scores: torch.Tensor) -> torch.Tensor:
        shape = get_bitmask_shape(rows, scores.shape[1])
        if scores.device.type == "cuda":
            # New each time: torch gives pinned memory out again when the copies from it are done.
            return torch.empty(shape, dtype=torch.int32, pin_memory=True)
        if self._mask is None or tuple(self._mask.shape) != shape:
            self._mask = torch.empty(shape, dtype=torch.int32)
        return self._mask


def _allow_only(mask_row: torch.Tensor, tokens: List[int]) -> None:
    mask_row.zero_()
    for token in tokens:
        bit = 1 << (token & 31)
        mask_row[token >> 5] |= bit - (1 << 32) if bit >> 31 else bit


def _check_grammars(given: Any) -> List[Optional[CompiledGrammar]]:
    grammars = list(given) if isinstance(given, (list, tuple)) else [given]
    for i, grammar in enumerate(grammars):
        if grammar is not None and not isinstance(grammar, CompiledGrammar):
            raise GrammaskError(
                f"compiled_grammar[{i}] is {type(grammar).__name__}; it must be a "
                "grammask.CompiledGrammar (GrammarCompiler makes them) or None"
            )
    chosen = [grammar for grammar in grammars if grammar is not None]
    if not chosen:
        raise GrammaskError("compiled_grammar holds no grammar; at least one is needed")
    first = chosen[0].tokenizer_info
    for grammar in chosen[1:]:
        info = grammar.tokenizer_info
        if info == first:
            continue
        if (
            info.vocab_size != first.vocab_size
            or info.stop_token_ids != first.stop_token_ids
            or info.decoded_vocab != first.decoded_vocab
        ):
            raise GrammaskError(
                f"compiled_grammar[{grammars.index(grammar)}] was compiled for another vocabulary "
                f"({info.vocab_size} tokens) than the first ({first.vocab_size} tokens); compile "
                "all with the TokenizerInfo of the model that generates"
            )
    return grammars
