"""grammask compile: what compiling a grammar costs."""

from __future__ import annotations

import argparse
import time
from typing import List

import numpy

import grammask

from . import display, inputs, tokenizers

HELP = "time, states and memory of a compilation"
DESCRIPTION = """\
Compiles a grammar and shows what it cost. --precompute makes masks ahead of need; --print shows the
grammar as EBNF."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    inputs.add_grammar_arguments(parser)
    parser.add_argument(
        "--tokenizer", default="bytes", metavar="TOKENIZER", help=tokenizers.HELP + " (bytes)"
    )
    parser.add_argument(
        "--precompute",
        type=int,
        nargs="?",
        const=100_000,
        metavar="STATES",
        help="make the masks of up to so many states (100000) ahead of need",
    )
    parser.add_argument("--threads", type=int, default=1, help="threads for --precompute (1)")
    parser.add_argument("--print", action="store_true", help="print the grammar as EBNF")


def run(arguments: argparse.Namespace) -> int:
    if arguments.threads < 1:
        raise inputs.BadInput(f"--threads is {arguments.threads}; it must be at least 1")
    if arguments.precompute is not None and arguments.precompute < 1:
        raise inputs.BadInput(f"--precompute is {arguments.precompute}; it must be at least 1")
    with display.Progress("loading the tokenizer"):
        tokenizer = tokenizers.load_tokenizer(arguments.tokenizer)
    with display.Progress("compiling"):
        start = time.perf_counter()
        grammar = inputs.load_grammar(arguments, whitespace="any")
        read = time.perf_counter()
        compiled = inputs.compile_grammar(tokenizer, grammar, inputs.grammar_name(arguments))
        done = time.perf_counter()
    rows = [
        ("read", display.duration(read - start)),
        ("compiled", display.duration(done - read)),
    ]
    rows.append(("first mask", _first_mask(compiled, tokenizer.vocab_size)))
    if arguments.precompute is not None:
        rows.append(("precomputed", _precompute(compiled, arguments)))
    rows += _figures(compiled)
    if arguments.print:
        print(str(grammar).rstrip("\n"))
    print(display.table(rows))
    return 0


def _first_mask(compiled: grammask.CompiledGrammar, vocab_size: int) -> str:
    mask = numpy.zeros(grammask.get_bitmask_shape(1, vocab_size), dtype=numpy.int32)
    matcher = grammask.GrammarMatcher(compiled)
    start = time.perf_counter()
    matcher.fill_next_token_bitmask(mask, 0)
    return display.duration(time.perf_counter() - start)


def _precompute(compiled: grammask.CompiledGrammar, arguments: argparse.Namespace) -> str:
    with display.Progress("computing masks") as progress:

        def note(done: int, found: int) -> None:
            progress.note = f"{done} of {found} states found so far"

        start = time.perf_counter()
        count = compiled.precompute(
            arguments.threads, max_states=arguments.precompute, progress=note
        )
    return f"{count} masks in {display.duration(time.perf_counter() - start)}"


def _figures(compiled: grammask.CompiledGrammar) -> "List[tuple[str, str]]":
    stats = compiled.stats()
    shortest = stats["shortest_bytes"]
    return [
        ("grammar", f"{stats['rules']} rules, {stats['nodes']} nodes"),
        ("made so far", f"{stats['states']} states, {stats['sets']} sets, {stats['masks']} masks"),
        ("memory", display.size(stats["memory_bytes"])),
        ("shortest text", "unknown" if shortest is None else f"{shortest} bytes"),
    ]
