#!/usr/bin/env python3
"""Loading a saved grammar against compiling it.

    python3 bench/saving.py schemas.jsonl[.gz] vocabulary.tiktoken [--sample N] [--least-ms 1]

Each line of the first file is an object with a "schema". Of those that take at least so long to
compile, it times three ways to a matcher with its first mask, each in a compiler of its own that
has seen the schemas before it: compiling, loading the states as from anyone, loading states and
masks as trusted. The best of several rounds counts, each with new compilers. Prints ratios, and
the sizes of the files.
"""

import argparse
import base64
import gzip
import json
import random
import time

import numpy

import grammask


def vocabulary(path):
    tokens = []
    with open(path, "rb") as file:
        for line in file:
            tokens.append(base64.b64decode(line.split()[0]))
    return grammask.TokenizerInfo(tokens + [b"</s>"], stop_token_ids=[len(tokens)])


def quantiles(values):
    values = sorted(values)
    return " / ".join(f"{values[int(q * (len(values) - 1))]:.1f}" for q in (0, 0.1, 0.5, 0.9, 1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("schemas")
    parser.add_argument("vocabulary")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--least-ms", type=float, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    with (gzip.open if args.schemas.endswith(".gz") else open)(args.schemas, "rt") as file:
        schemas = [json.dumps(json.loads(line)["schema"]) for line in file]
    if args.sample:
        schemas = random.Random(1).sample(schemas, args.sample)
    info = vocabulary(args.vocabulary)
    mask = numpy.zeros((1, (info.vocab_size + 31) // 32), dtype=numpy.int32)

    def timed(make):
        start = time.perf_counter()
        compiled = make()
        made = time.perf_counter()
        grammask.GrammarMatcher(compiled).fill_next_token_bitmask(mask)
        return 1e3 * (made - start), 1e3 * (time.perf_counter() - start)

    source = grammask.GrammarCompiler(info, cache_enabled=False)
    files = []
    for schema in schemas:
        try:
            compiled = source.compile_json_schema(schema, strict_mode=False)
        except grammask.GrammaskError:
            continue
        grammask.GrammarMatcher(compiled).fill_next_token_bitmask(mask)
        files.append((schema, compiled.to_bytes(masks=False), compiled.to_bytes()))
    best = [[(float("inf"),) * 2] * 3 for _ in files]
    for _ in range(args.rounds):
        compiling, loading, trusting = (
            grammask.GrammarCompiler(info, cache_enabled=False) for _ in range(3)
        )
        for i, (schema, states, masks) in enumerate(files):
            ways = [
                timed(lambda: compiling.compile_json_schema(schema, strict_mode=False)),
                timed(lambda: grammask.CompiledGrammar.from_bytes(states, loading)),
                timed(lambda: grammask.CompiledGrammar.from_bytes(masks, trusting, trusted=True)),
            ]
            best[i] = [min(old, new) for old, new in zip(best[i], ways)]
    rows = []
    for ways, (schema, states, masks) in zip(best, files):
        if ways[0][0] >= args.least_ms:
            rows.append((ways, len(masks), len(states), len(schema)))
    print(f"{len(rows)} schemas; quantiles 0%, 10%, 50%, 90%, 100%")
    print("compiling, ms                ", quantiles([w[0][0] for w, *_ in rows]))
    for way, name in (1, "loading"), (2, "loading as trusted"):
        print(f"{name}, ms".ljust(29), quantiles([w[way][0] for w, *_ in rows]))
        print("  times as fast              ", quantiles([w[0][0] / w[way][0] for w, *_ in rows]))
        print("  to the first mask          ", quantiles([w[0][1] / w[way][1] for w, *_ in rows]))
        total = sum(w[0][0] for w, *_ in rows) / sum(w[way][0] for w, *_ in rows)
        print(f"  in all                      {total:.1f}")
    for at, name in (1, "with masks, KB"), (2, "file, KB"), (3, "schema, KB"):
        print(f"{name}".ljust(29), quantiles([row[at] / 1e3 for row in rows]))


if __name__ == "__main__":
    main()
