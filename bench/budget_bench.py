#!/usr/bin/env python3
"""Memory over many distinct schemas: does cache_limit_bytes hold?

usage: budget_bench.py [--schemas 100000] [--limit BYTES ...] [--tokens 128000]

Compiles schemas that are all different (names, types, bounds, enums, patterns drawn from a seed)
with one compiler whose cache is on; each gets a matcher, a few tokens and masks, and the matcher
goes. The process's resident memory is sampled all along and compared with what it was before the
first schema. One line for each limit, each in a process of its own: the greatest growth, also as a
share of the limit, what cache_size_bytes says, and the time a schema took.
"""

import argparse
import json
import multiprocessing
import random
import time

import numpy

import grammask

WORDS = "id name age email tags street city zip total count items status kind value note".split()


def vocabulary(size):
    """Bytes, then words and parts of them, until there are `size` tokens."""
    rng = random.Random(1)
    tokens = dict.fromkeys(bytes([b]) for b in range(256))
    parts = [w.encode() for w in WORDS] + [b'"', b'":', b'",', b'", "', b"{", b"}", b" ", b"1", b"20"]
    letters = b"abcdefghijklmnopqrstuvwxyz"
    while len(tokens) < size - 1:
        if rng.random() < 0.2:
            tokens[rng.choice(parts) + rng.choice(parts)] = None
        word = bytes(rng.choice(letters) for _ in range(rng.randint(2, 8)))
        tokens[(b" " if rng.random() < 0.5 else b"") + word] = None
    return list(tokens) + [b"</s>"]


def value(rng, depth):
    kind = rng.randrange(9 if depth > 0 else 6)
    if kind == 0:
        return {"type": "string", "maxLength": rng.randint(1, 500)}
    if kind == 1:
        return {"type": "integer", "minimum": rng.randint(-1000, 0), "maximum": rng.randint(1, 1000)}
    if kind == 2:
        return {"enum": [f"{rng.choice(WORDS)}{rng.randrange(10**6)}" for _ in range(rng.randint(1, 8))]}
    if kind == 3:
        return {"type": "string", "pattern": f"^{rng.choice(WORDS)}-[0-9]{{1,{rng.randint(2, 30)}}}$"}
    if kind == 4:
        return {"type": rng.choice(["string", "number", "boolean", "null"])}
    if kind == 5:
        return {"type": "string", "format": rng.choice(["date", "uuid", "email"])}
    if kind == 6:
        return {"type": "array", "items": value(rng, depth - 1), "maxItems": rng.randint(1, 100)}
    names = [f"{rng.choice(WORDS)}_{rng.randrange(10**4)}" for _ in range(rng.randint(1, 8))]
    return {
        "type": "object",
        "properties": {name: value(rng, depth - 1) for name in names},
        "required": names[: rng.randint(0, len(names))],
    }


def schema(i):
    rng = random.Random(i)
    names = [f"{rng.choice(WORDS)}_{rng.randrange(10**4)}" for _ in range(rng.randint(2, 10))]
    return json.dumps(
        {
            "$comment": str(i),
            "type": "object",
            "properties": {name: value(rng, 2) for name in names},
            "required": names[:1],
        }
    )


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def run(args, limit, results):
    info = grammask.TokenizerInfo(vocabulary(args.tokens))
    row = numpy.zeros((1, (info.vocab_size + 31) // 32), numpy.int32)
    before = resident()  # the compiler's reserve of memory is part of what it takes
    compiler = grammask.GrammarCompiler(info, cache_limit_bytes=limit)
    most = most_said = 0
    spent = 0.0
    for i in range(args.schemas):
        text = schema(i)
        start = time.perf_counter()
        matcher = grammask.GrammarMatcher(compiler.compile_json_schema(text))
        for piece in ("{", '"', None):
            matcher.fill_next_token_bitmask(row)
            if piece is not None:
                matcher.accept_string(piece)
        del matcher
        spent += time.perf_counter() - start
        if i % 100 == 0 or i + 1 == args.schemas:
            most = max(most, resident() - before)
            most_said = max(most_said, compiler.get_cache_size_bytes())
        if args.verbose and i % 5000 == 0:
            grown = (resident() - before) / 2**20
            print(f"  {i} {grown:.0f} MB, says {compiler.get_cache_size_bytes() / 2**20:.0f} MB")
    results.put((most, most_said, spent / args.schemas))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--schemas", type=int, default=100_000)
    parser.add_argument("--limit", type=int, nargs="*", default=[100 << 20, 200 << 20, 400 << 20])
    parser.add_argument("--tokens", type=int, default=128_000)
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    print("| limit MB | resident MB, at most | share | the cache says | us a schema |")
    print("|--:|--:|--:|--:|--:|")
    for limit in args.limit:
        results = context.Queue()
        process = context.Process(target=run, args=(args, limit, results))
        process.start()
        most, said, each = results.get()
        process.join()
        share = f"{most / limit:.0%}" if limit > 0 else ""
        print(
            f"| {limit / 2**20:.0f} | {most / 2**20:.0f} | {share} | {said / 2**20:.0f} "
            f"| {each * 1e6:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
