#!/usr/bin/env python3
"""How times and memory grow: with the schema, with the vocabulary, with the number of grammars.

usage: growth.py [--out growth.json] [--only TEXT] [--largest 10000000] [--repeats 3]

Curves, each a list of (x, y) points with the slope of a straight line through them on a log-log scale (over
the points of the upper half, where constant costs no longer count): 1 is linear, 0 constant.

  compile ...   seconds of processor time from schema text to first mask, by bytes of the schema: more
                properties, deeper nesting, longer enums, more $defs. Fresh compiler for each.
  mask ...      microseconds of a mask by the size of the vocabulary, made up, the same on every machine:
                the mean along a document, masks never asked for (cold) and asked for before (warm)
  set-up        seconds to set up such a vocabulary
  memory        bytes of resident memory by the number of different grammars kept, each with a document's masks

Every point is the best of --repeats. A curve ends before a schema that takes more than the default limits allow,
which is said. bench/plot.py draws the JSON. No package but grammask and numpy.
"""
import argparse
import json
import math
import os
import random
import subprocess
import sys
import time

import numpy as np

import grammask as gm

PIECES = ("the ing tion er in on re at en ed is it al ar or st se le ti ra ma co de pro com un e a s t").split()
MARKS = ['"', '":', '",', '"}', '{"', "[", "]", "},", "  ", "\n", ":", ", ", ".", "-", "_", "/", "\\", "\\n", "()",
         "=="]
OTHERS = ["é", "ü", "中", "文", "а", "н", "😀", "—"]


def made_up_tokens(size):
    """`size` different tokens in the manner of a byte-pair vocabulary; the last is the stop token."""
    rng = random.Random(1)
    tokens = {bytes([byte]): None for byte in range(256)}
    while len(tokens) < size - 1:
        kind = rng.randrange(20)
        parts = OTHERS if kind == 0 else MARKS if kind == 2 else PIECES
        token = rng.choice(["", " "]) + "".join(rng.choice(parts) for _ in range(rng.randint(1, 4)))
        if kind == 1:
            token = str(rng.randrange(1000))
        if kind == 3:
            token += rng.choice(MARKS)
        if rng.random() < 0.5:
            token += "".join(rng.choice(PIECES) for _ in range(2))
        tokens[token.encode()] = None
    return [*tokens][: size - 1] + [b"</s>"]


def cut(text, ids):
    """The greedy cut of `text` into tokens."""
    data, at, found = text.encode(), 0, []
    while at < len(data):
        for length in range(16, 0, -1):
            token = ids.get(data[at:at + length])
            if token is not None and at + length <= len(data):
                found.append(token)
                at += length
                break
    return found


# Schemas of about so many bytes.


def properties(size):
    kinds = [{"type": "integer"}, {"type": "string"}, {"type": "boolean"}]
    return {"type": "object", "properties": {f"name{i:06}": kinds[i % 3] for i in range(max(1, size // 34))}}


def nesting(size):
    """As text: the json package gives up on deep values."""
    depth = max(1, size // 36)
    return '{"type":"object","properties":{"a":' * depth + "true" + "}}" * depth


def enum(size):
    rng = random.Random(3)
    return {"enum": ["".join(rng.choices("abcdefghijklmnop", k=10)) for _ in range(max(1, size // 14))]}


def definitions(size):
    count = max(1, size // 66)
    defs = {f"d{i}": {"type": "array", "items": {"$ref": f"#/$defs/d{i * 7 % count}"}} for i in range(count)}
    return {"$defs": defs, "anyOf": [{"$ref": f"#/$defs/d{i}"} for i in range(min(count, 8))]}


SCHEMAS = {"properties": properties, "nesting": nesting, "enum": enum, "$defs": definitions}
DEEPEST = 4900  # two brackets a level; Limits::max_nesting is 10,000


def slope(points):
    """Of a least-squares line through the upper half of the points, on a log-log scale."""
    upper = points[len(points) // 2:] if len(points) > 3 else points
    x = [math.log(p[0]) for p in upper]
    y = [math.log(max(p[1], 1e-9)) for p in upper]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y)) / sum((a - mean_x) ** 2 for a in x)


def best(repeats, run):
    return min(run() for _ in range(repeats))


def first_mask(info, schema, mask):
    """Seconds of this thread from schema text to first mask, nothing known before."""
    compiler = gm.GrammarCompiler(info, max_threads=1, cache_enabled=False)
    began = time.thread_time()
    matcher = gm.GrammarMatcher(compiler.compile_json_schema(schema, strict_mode=False))
    matcher.fill_next_token_bitmask(mask)
    return time.thread_time() - began


def compile_curves(args):
    tokens = made_up_tokens(128_000)
    info = gm.TokenizerInfo(tokens, stop_token_ids=[len(tokens) - 1])
    mask = np.empty((1, (len(tokens) + 31) // 32), dtype=np.int32)
    best(5, lambda: first_mask(info, "true", mask))
    for name, make in SCHEMAS.items():
        points = []
        size = 10
        while size <= args.largest:
            if name != "nesting" or size // 36 <= DEEPEST:
                schema = make(size)
                text = schema if isinstance(schema, str) else json.dumps(schema, separators=(",", ":"))
                try:
                    points.append((len(text), best(args.repeats, lambda: first_mask(info, text, mask))))
                except gm.LimitError as error:  # the curve ends here
                    print(f"compile: {name}, {len(text):,} bytes: {error}", file=sys.stderr)
                    break
            size *= 10 if size < 1000 else 4 if size < 1_000_000 else 3
        yield f"compile: {name}", "bytes of schema", "s", points


DOCUMENT = {"name": "the name of a thing", "count": 1234, "tags": ["one", "two three"],
            "inner": {"ok": True, "x": [1.5, 2]}}
SMALL = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "count": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 40}},
        "inner": {"type": "object"},
    },
    "required": ["name"],
}


def vocabulary_curves(args):
    set_up, cold, warm = [], [], []
    for size in (32_000, 64_000, 128_000, 152_000, 262_000):
        tokens = made_up_tokens(size)
        ids = cut(json.dumps(DOCUMENT), {token: i for i, token in enumerate(tokens)})
        mask = np.empty((1, (size + 31) // 32), dtype=np.int32)

        def make():
            began = time.thread_time()
            gm.TokenizerInfo(tokens, stop_token_ids=[size - 1])
            return time.thread_time() - began

        def walk(matcher, now=time.perf_counter_ns):
            spent = 0
            for token in ids:
                began = now()
                matcher.fill_next_token_bitmask(mask)
                spent += now() - began
                assert matcher.accept_token(token)
            return spent / len(ids) / 1e3

        def once():
            # A tokenizer of its own, so that nothing of the vocabulary is known either.
            info = gm.TokenizerInfo(tokens, stop_token_ids=[size - 1])
            compiled = gm.GrammarCompiler(info, max_threads=1).compile_json_schema(SMALL, strict_mode=False)
            cold = walk(gm.GrammarMatcher(compiled), time.thread_time_ns)
            return cold, min(walk(gm.GrammarMatcher(compiled)) for _ in range(20))

        runs = [once() for _ in range(args.repeats)]
        set_up.append((size, best(args.repeats, make)))
        cold.append((size, min(c for c, _ in runs)))
        warm.append((size, min(w for _, w in runs)))
    yield "set-up", "tokens", "s", set_up
    yield "mask: cold", "tokens", "us", cold
    yield "mask: warm", "tokens", "us", warm


def resident():
    with open("/proc/self/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def keep_grammars(count):
    """Bytes of resident memory that `count` different grammars take, with their masks; in this process."""
    tokens = made_up_tokens(32_000)
    info = gm.TokenizerInfo(tokens, stop_token_ids=[len(tokens) - 1])
    mask = np.empty((1, (len(tokens) + 31) // 32), dtype=np.int32)
    ids = {token: i for i, token in enumerate(tokens)}
    before, kept = resident(), []  # the compiler's reserve of memory is part of what it takes
    compiler = gm.GrammarCompiler(info, max_threads=1)
    for i in range(count):
        names = [f"name{i * 3 + k}" for k in range(3)]
        schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": names}
        kept.append(compiler.compile_json_schema(schema))
        matcher = gm.GrammarMatcher(kept[-1])
        for token in cut(json.dumps(dict.fromkeys(names, "a text")), ids):
            matcher.fill_next_token_bitmask(mask)
            assert matcher.accept_token(token)
    return resident() - before


def memory_curve(args):
    points = []
    for count in (10, 30, 100, 300, 1000, 3000, 10_000):
        # Each in a process of its own: memory is rarely handed back.
        out = subprocess.run([sys.executable, __file__, "--keep", str(count)], stdout=subprocess.PIPE, check=True)
        points.append((count, max(int(out.stdout), 1)))
    yield "memory", "grammars", "bytes", points


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out")
    parser.add_argument("--only", default="")
    parser.add_argument("--largest", type=int, default=10_000_000, help="bytes of the largest schema")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--keep", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.keep:
        print(keep_grammars(args.keep))
        return
    curves = {}
    print("| curve | slope | points |\n|:--|--:|:--|")
    for group, make in (("compile", compile_curves), ("mask set-up", vocabulary_curves), ("memory", memory_curve)):
        if args.only not in group:
            continue
        for name, x_label, y_label, points in make(args):
            curves[name] = {"x": x_label, "y": y_label, "points": points, "slope": slope(points)}
            shown = ", ".join(f"{x:,}: {y:.3g}" for x, y in points)
            print(f"| {name} | {curves[name]['slope']:.2f} | {shown} ({y_label} by {x_label}) |", flush=True)
    if args.out:
        with open(args.out, "w", encoding="utf-8") as f:
            json.dump(curves, f, indent=1)


if __name__ == "__main__":
    main()
