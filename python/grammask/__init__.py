"""grammask: constrains a language model's output to a grammar.

At each decoding step a GrammarMatcher computes the exact set of tokens that may come next, as a
bitmask over the vocabulary:

    import grammask

    tokenizer_info = grammask.TokenizerInfo.from_huggingface(tokenizer, vocab_size=vocab_size)
    compiler = grammask.GrammarCompiler(tokenizer_info)
    compiled = compiler.compile_json_schema(schema)
    matcher = grammask.GrammarMatcher(compiled)
    bitmask = grammask.allocate_token_bitmask(1, tokenizer_info.vocab_size)
    while not matcher.is_terminated():
        matcher.fill_next_token_bitmask(bitmask)
        grammask.apply_token_bitmask_inplace(logits, bitmask)
        matcher.accept_token(sample(logits))

Importing grammask imports neither torch nor transformers nor NumPy.
"""

from __future__ import annotations

from typing import Any

from . import exception
from ._core import (
    BatchGrammarMatcher,
    CompiledGrammar,
    Grammar,
    GrammarCompiler,
    GrammarMatcher,
    TokenizerInfo,
    VocabType,
    get_serialization_version,
)
from ._schema_warning import SchemaWarning
from .bitmask import (
    allocate_token_bitmask,
    apply_token_bitmask,
    apply_token_bitmask_inplace,
    get_bitmask_shape,
    reset_token_bitmask,
)
from .exception import (
    DeserializeFormatError,
    DeserializeVersionError,
    GrammarError,
    GrammaskError,
    InvalidJSONError,
    LimitError,
    RegexError,
    SchemaError,
    TokenizerError,
)
from .sampling import masked_argmax, masked_sample, merge_argmax

__version__ = "0.1.0"

__all__ = [
    "BatchGrammarMatcher",
    "CompiledGrammar",
    "DeserializeFormatError",
    "DeserializeVersionError",
    "Grammar",
    "GrammarCompiler",
    "GrammarError",
    "GrammarMatcher",
    "GrammaskError",
    "InvalidJSONError",
    "LimitError",
    "RegexError",
    "SchemaError",
    "SchemaWarning",
    "TokenizerError",
    "TokenizerInfo",
    "VocabType",
    "allocate_token_bitmask",
    "apply_token_bitmask",
    "apply_token_bitmask_inplace",
    "exception",
    "get_bitmask_shape",
    "get_serialization_version",
    "masked_argmax",
    "masked_sample",
    "merge_argmax",
    "reset_token_bitmask",
]


_MODULES = {
    "contrib": ".contrib",
    "hf": ".contrib.hf",
    "pipeline": ".pipeline",
    "testing": ".testing",
}


def __getattr__(name: str) -> Any:
    # Made on first use, so that importing grammask imports neither torch nor what few need.
    if name == "bitmask_dtype":
        from .bitmask import bitmask_dtype as find_dtype

        value = find_dtype()
    elif name in _MODULES:
        import importlib

        value = importlib.import_module(_MODULES[name], __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> "list[str]":
    return sorted({*globals(), "bitmask_dtype", *_MODULES})
