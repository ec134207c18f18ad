"""grammask mask: which tokens may come after a prefix."""

from __future__ import annotations

import argparse
import time
from typing import List

import numpy

import grammask

from . import display, inputs, tokenizers

HELP = "which tokens may come next after a prefix"
DESCRIPTION = """\
Shows the mask after a prefix: how many tokens may come next, and examples. Exit code 1 when the
prefix itself does not match."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    inputs.add_grammar_arguments(parser)
    parser.add_argument("--tokenizer", required=True, metavar="TOKENIZER", help=tokenizers.HELP)
    prefix = parser.add_mutually_exclusive_group()
    prefix.add_argument("--prefix", default="", help="the text so far (empty)")
    prefix.add_argument("--prefix-file", metavar="FILE", help="a file with the text so far")
    parser.add_argument("--limit", type=int, default=24, help="most examples to show (24)")
    parser.add_argument("--refused", action="store_true", help="show refused tokens instead")


def run(arguments: argparse.Namespace) -> int:
    grammar = inputs.load_grammar(arguments, whitespace="any")
    if arguments.prefix_file is not None:
        prefix = inputs.read_bytes(arguments.prefix_file, "prefix")
    else:
        prefix = arguments.prefix.encode("utf-8", errors="surrogateescape")
    with display.Progress("loading the tokenizer"):
        tokenizer = tokenizers.load_tokenizer(arguments.tokenizer)
    compiled = inputs.compile_grammar(tokenizer, grammar, inputs.grammar_name(arguments))
    matcher = grammask.GrammarMatcher(compiled)
    matched = matcher.matching_prefix(prefix)
    if matched < len(prefix):
        line, column, shown, caret = display.place(prefix, matched)
        print(f"prefix:{line}:{column}: the prefix does not match from here\n  {shown}\n  {caret}")
        return 1
    matcher.accept_string(prefix)
    print(_report(matcher, tokenizer, arguments.limit, arguments.refused))
    return 0


def _report(
    matcher: grammask.GrammarMatcher,
    tokenizer: grammask.TokenizerInfo,
    limit: int,
    refused: bool,
) -> str:
    size = tokenizer.vocab_size
    mask = numpy.zeros(grammask.get_bitmask_shape(1, size), dtype=numpy.int32)
    seconds: List[float] = []
    for _ in range(2):  # the first time makes the mask, the second finds it
        start = time.perf_counter()
        matcher.fill_next_token_bitmask(mask, 0)
        seconds.append(time.perf_counter() - start)
    bits = numpy.unpackbits(mask.view(numpy.uint8), bitorder="little")[:size].astype(bool)
    allowed = int(bits.sum())
    rows = [
        ("allowed", f"{allowed} of {size} tokens"),
        ("end of text", "allowed" if matcher.is_completed() else "not yet"),
        ("shortest rest", f"{matcher.shortest_completion_bytes()} bytes"),
        (
            "time per mask",
            f"{display.duration(seconds[0])} first, {display.duration(seconds[1])} again",
        ),
    ]
    forced = matcher.find_jump_forward_string()
    if forced:
        rows.append(("forced text", display.show_bytes(forced.encode())))
    ids = numpy.flatnonzero(~bits if refused else bits)
    texts = tokenizer.decoded_vocab
    shown = _examples([int(token) for token in ids], texts, limit)
    lines = [display.table(rows), "refused tokens:" if refused else "allowed tokens:"]
    lines += [f"  {token:>7}  {display.show_bytes(texts[token])}" for token in shown]
    if len(ids) > len(shown):
        lines.append(f"  ... and {len(ids) - len(shown)} more")
    return "\n".join(lines)


def _examples(ids: List[int], texts: List[bytes], limit: int) -> List[int]:
    """All ids where they are few; else some evenly spaced in the order of their bytes, so that
    every kind of token is likely to show."""
    ids = sorted(ids, key=lambda token: (texts[token], token))
    if len(ids) <= limit:
        return ids
    if limit < 1:
        return []
    return [ids[i * len(ids) // limit] for i in range(limit)]
