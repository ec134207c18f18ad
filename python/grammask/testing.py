"""Helpers for tests of grammars and of code that uses bitmasks.

The names with a leading underscore are those that tests of inference engines import.
"""

from __future__ import annotations

import logging
import time
from typing import Any, List, Optional, Tuple, Union

from . import _core
from .bitmask import _is_torch_tensor

_log = logging.getLogger("grammask")


def _get_matcher_from_grammar_and_tokenizer_info(
    grammar: Union[_core.Grammar, str],
    tokenizer_info: Optional[_core.TokenizerInfo] = None,
    **kwargs: Any,
) -> _core.GrammarMatcher:
    """A matcher of a Grammar or EBNF text; without tokenizer_info, over an empty vocabulary."""
    if tokenizer_info is None:
        tokenizer_info = _core.TokenizerInfo([])
    compiler = _core.GrammarCompiler(tokenizer_info, cache_enabled=False)
    return _core.GrammarMatcher(compiler.compile_grammar(grammar), **kwargs)


def _get_matcher_from_grammar(
    grammar: Union[_core.Grammar, str], **kwargs: Any
) -> _core.GrammarMatcher:
    """A matcher over an empty vocabulary, which terminates without a stop token."""
    kwargs.setdefault("terminate_without_stop_token", True)
    return _get_matcher_from_grammar_and_tokenizer_info(grammar, None, **kwargs)


def _is_grammar_accept_string(
    grammar: Union[_core.Grammar, str],
    input_str: Union[str, bytes],
    *,
    debug_print: bool = False,
    print_time: bool = False,
    require_termination: bool = True,
) -> bool:
    """Whether the grammar accepts a text: the whole of it, or (require_termination=False) as the
    beginning of one. The outcome and the time go to logging.getLogger("grammask")."""
    matcher = _get_matcher_from_grammar(grammar)
    start = time.perf_counter()
    accepted = matcher.accept_string(input_str, debug_print=debug_print)
    if print_time:
        _log.info("accepting took %.1f us", (time.perf_counter() - start) * 1e6)
    return accepted and (matcher.is_completed() or not require_termination)


def bitmask_to_bool_mask(bit_mask: Any, vocab_size: Optional[int] = None) -> Any:
    """A bitmask, int32 of shape (batch_size, words), as booleans of shape (batch_size, vocab_size).

    vocab_size: by default 32 * words. A torch tensor gives a torch tensor, else NumPy.
    """
    if _is_torch_tensor(bit_mask):
        import torch

        shifts = torch.arange(32, device=bit_mask.device, dtype=torch.int32)
        bits = ((bit_mask.unsqueeze(-1) >> shifts) & 1).bool().flatten(-2)
    else:
        import numpy

        words = numpy.asarray(bit_mask)
        bits = ((words[..., None] >> numpy.arange(32, dtype=numpy.int32)) & 1).astype(bool)
        bits = bits.reshape(words.shape[:-1] + (words.shape[-1] * 32,))
    return bits if vocab_size is None else bits[..., :vocab_size]


def bool_mask_to_bitmask(bool_mask: Any) -> Any:
    """Booleans of shape (batch_size, vocab_size) as a bitmask, int32 of shape (batch_size, words).

    Bits beyond vocab_size are 0. A torch tensor gives a torch tensor, else NumPy.
    """
    import numpy

    from_torch = _is_torch_tensor(bool_mask)
    bools = bool_mask.cpu().numpy() if from_torch else numpy.asarray(bool_mask, dtype=bool)
    size = bools.shape[-1]
    padded = numpy.zeros(bools.shape[:-1] + (-(-size // 32) * 32,), dtype=bool)
    padded[..., :size] = bools
    packed = numpy.packbits(padded, axis=-1, bitorder="little").view("<i4")
    packed = numpy.ascontiguousarray(packed, dtype=numpy.int32)
    if not from_torch:
        return packed
    import torch

    return torch.from_numpy(packed).to(bool_mask.device)


def _allowed_tokens(bitmask: Any, vocab_size: int, index: int) -> List[int]:
    row = bitmask if len(bitmask.shape) == 1 else bitmask[index]
    bools = bitmask_to_bool_mask(row, vocab_size)
    return (
        [int(i) for i in bools.nonzero()[0]]
        if not _is_torch_tensor(bools)
        else (bools.nonzero().flatten().tolist())
    )


def _get_masked_tokens_from_bitmask(bitmask: Any, vocab_size: int, index: int = 0) -> List[int]:
    """The ids that row `index` refuses, ascending."""
    allowed = set(_allowed_tokens(bitmask, vocab_size, index))
    return [token for token in range(vocab_size) if token not in allowed]


def _get_allowed_tokens_from_bitmask(bitmask: Any, vocab_size: int, index: int = 0) -> List[int]:
    """The ids that row `index` allows, ascending."""
    return _allowed_tokens(bitmask, vocab_size, index)


def _is_single_token_bitmask(bitmask: Any, vocab_size: int, index: int = 0) -> Tuple[bool, int]:
    """(True, id) where row `index` allows one token only, else (False, -1)."""
    allowed = _allowed_tokens(bitmask, vocab_size, index)
    return (True, allowed[0]) if len(allowed) == 1 else (False, -1)


def _json_schema_to_ebnf(schema: Any, **options: Any) -> str:
    """The grammar of a JSON Schema as EBNF text; options as for Grammar.from_json_schema."""
    return str(_core.Grammar.from_json_schema(schema, **options))


def _regex_to_ebnf(regex: str, with_rule_name: bool = True) -> str:
    """The grammar of a regular expression as EBNF text, with or without "root ::= "."""
    text = str(_core.Grammar.from_regex(regex))
    prefix = "root ::= "
    return text[len(prefix) :] if not with_rule_name and text.startswith(prefix) else text
