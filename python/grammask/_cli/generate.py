"""grammask generate: random documents of a grammar."""

from __future__ import annotations

import argparse
import sys
import time
from typing import List, Optional, TextIO

from . import display, inputs, tokenizers
from .sampling import Document, Sampler, TokenTexts

HELP = "write random documents of a grammar, as a model without knowledge would"
DESCRIPTION = """\
Writes documents of a grammar from seeded random logits, each finished within --max-tokens. The
documents go to standard output (or --out), what was measured to standard error. On a terminal,
tokens to which the grammar left no choice are dim."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    inputs.add_grammar_arguments(parser)
    parser.add_argument("--tokenizer", required=True, metavar="TOKENIZER", help=tokenizers.HELP)
    parser.add_argument("--count", type=int, default=1, help="number of documents (1)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random logits (0)")
    parser.add_argument(
        "--max-tokens", type=int, default=256, help="most tokens, stop token included (256)"
    )
    parser.add_argument(
        "--finish-bias",
        type=float,
        default=0.15,
        metavar="P",
        help="probability that a step takes the next token of the shortest completion (0.15)",
    )
    parser.add_argument("--out", metavar="FILE", help="write the documents to this file")
    parser.add_argument("--quiet", action="store_true", help="only the documents")


def run(arguments: argparse.Namespace) -> int:
    _check(arguments)
    grammar = inputs.load_grammar(arguments, whitespace="compact")
    with display.Progress("loading the tokenizer"):
        tokenizer = tokenizers.load_tokenizer(arguments.tokenizer)
        texts = TokenTexts(tokenizer)
    if not texts.stop_ids:
        raise inputs.BadInput(f"tokenizer {arguments.tokenizer!r} has no stop token")
    start = time.perf_counter()
    compiled = inputs.compile_grammar(tokenizer, grammar, inputs.grammar_name(arguments))
    compile_seconds = time.perf_counter() - start
    sampler = Sampler(
        compiled,
        texts,
        max_tokens=arguments.max_tokens,
        seed=arguments.seed,
        finish_bias=arguments.finish_bias,
    )
    documents: List[Document] = []
    out = _open(arguments.out)
    try:
        with display.Progress("generating") as progress:
            for document in sampler.documents(arguments.count):
                _write(out, document, texts)
                documents.append(document)
                progress.note = f"{len(documents)} of {arguments.count}"
                if not arguments.quiet:
                    print(_line(len(documents), document), file=sys.stderr)
    finally:
        if out is not sys.stdout:
            out.close()
    if not arguments.quiet:
        print(_summary(documents, tokenizer.vocab_size, compile_seconds), file=sys.stderr)
    return 0


def _check(arguments: argparse.Namespace) -> None:
    if arguments.count < 1:
        raise inputs.BadInput(f"--count is {arguments.count}; it must be at least 1")
    if arguments.max_tokens < 1:
        raise inputs.BadInput(f"--max-tokens is {arguments.max_tokens}; it must be at least 1")
    if arguments.seed < 0:
        raise inputs.BadInput(f"--seed is {arguments.seed}; it must not be negative")
    if not 0 <= arguments.finish_bias <= 1:
        raise inputs.BadInput(f"--finish-bias is {arguments.finish_bias}; it must be from 0 to 1")


def _open(path: Optional[str]) -> TextIO:
    if path is None:
        return sys.stdout
    try:
        return open(path, "w", encoding="utf-8", errors="surrogateescape", newline="")
    except OSError as error:
        raise inputs.BadInput(f"--out {path!r} cannot be written: {error.strerror}") from None


def _write(out: TextIO, document: Document, texts: TokenTexts) -> None:
    if out.isatty():
        shown = b""
        for token, forced in zip(document.tokens, document.forced):
            text = texts.texts[token]
            shown += b"\x1b[2m" + text + b"\x1b[22m" if forced else text
    else:
        shown = document.text
    out.flush()
    buffer = getattr(out, "buffer", None)
    if buffer is not None:
        buffer.write(shown + b"\n")
        buffer.flush()
    else:
        out.write(shown.decode("utf-8", errors="replace") + "\n")


def _line(number: int, document: Document) -> str:
    tokens = len(document.tokens)
    forced = sum(document.forced)
    share = 100 * forced // tokens if tokens else 0
    text = (
        f"  document {number}: {tokens} tokens, {len(document.text)} bytes; forced: {forced} "
        f"tokens ({share} %) by a mask of one token, {document.jump_bytes} bytes by jump-forward"
    )
    if document.steered_from is not None:
        text += f"; finished by the budget from token {document.steered_from + 1}"
    return text


def _summary(documents: List[Document], vocab_size: int, compile_seconds: float) -> str:
    seconds = [value for document in documents for value in document.mask_seconds]
    counts = [count for document in documents for count in document.mask_counts]
    rows = [
        ("vocabulary", f"{vocab_size} tokens"),
        ("compiled in", display.duration(compile_seconds)),
        ("time per mask", display.mask_times(seconds)),
        (
            "allowed tokens",
            f"median {display.percentile(counts, 0.5):.0f}, least {min(counts)}, "
            f"most {max(counts)}",
        ),
    ]
    return display.table(rows)
