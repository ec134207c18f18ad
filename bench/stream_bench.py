#!/usr/bin/env python3
"""Continuous batching over schemas that come once each: how long a step takes, and its worst case.

usage: stream_bench.py [DATA.jsonl[.gz]] [--slots 64] [--engines grammask,llguidance] [--threads 1]
                       [--limit N] [--vocab llama3.tiktoken] [--seed 1]

DATA: as for batch_bench.py. Each slot writes one document: when it is complete, the next schema is
compiled and its document begins in the slot, as in a server whose users all have schemas of their
own. A step fills one mask a slot in one call and accepts one token each in another; compiling is
between steps and counted by itself. So in a step some masks are of a schema's first tokens, and
caches fill up and are emptied while outputs go on. Schemas that one of the engines refuses, or with
its document's tokens, are left out for all; those of each engine are found with compilers of their
own, which are gone then.

Reported for each engine: microseconds of a step (median, 99%, 99.9%, the longest, and which step it
was), of a row in the median, and of compiling with a new matcher (the same four).
"""
import argparse
import random
import sys

import numpy as np

from batch_bench import NOW, Grammask, LLGuidance, XGrammar, accepts, allows, load_rows, load_vocabulary


def usable(engine, rows, size):
    """Numbers of the (schema, tokens) that it takes."""
    pool, taken = engine.pool(1), set()
    for i, (schema, ids) in enumerate(rows):
        try:
            if accepts(engine, pool, engine.matcher(engine.compile(schema)), ids, size):
                taken.add(i)
        except Exception:  # refused
            pass
    return taken


class Slot:
    def __init__(self):
        self.matcher, self.ids, self.at = None, (), 0


def stream(engine, threads, rows, slots, size):
    """Microseconds of all steps, and of all compilations."""
    pool = engine.pool(threads)
    mask = np.zeros((slots, (size + 31) // 32), dtype=np.int32)
    waiting = iter(rows)
    compiled, steps = [], []

    def begin(slot):
        row = next(waiting, None)
        if row is None:
            return False
        began = NOW()
        slot.matcher = engine.matcher(engine.compile(row[0]))
        compiled.append((NOW() - began) / 1e3)
        slot.ids, slot.at = row[1], 0
        return True

    live = [Slot() for _ in range(slots)]
    while all(begin(slot) for slot in live if slot.at == len(slot.ids)):
        matchers = [slot.matcher for slot in live]
        tokens = [slot.ids[slot.at] for slot in live]
        began = NOW()
        engine.fill(pool, matchers, mask)
        middle = NOW()
        assert allows(mask, range(slots), tokens), engine.name
        again = NOW()
        accepted = engine.accept(pool, matchers, tokens)
        steps.append((NOW() - again + middle - began) / 1e3)
        assert accepted, engine.name
        for slot in live:
            slot.at += 1
    return steps, compiled


def quantiles(values):
    ordered = sorted(values)
    return [ordered[int((len(ordered) - 1) * q)] for q in (0.5, 0.99, 0.999, 1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?")
    parser.add_argument("--slots", type=int, default=64)
    parser.add_argument("--engines", default="grammask,llguidance")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--vocab")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    tokens, stop, encode = load_vocabulary(args.vocab)
    kinds = {kind.name: kind for kind in (Grammask, XGrammar, LLGuidance)}
    wanted = [kinds[name] for name in args.engines.split(",")]
    rows = [(schema, encode(documents[0])) for schema, documents in load_rows(args.data) if documents]
    rows = [(schema, ids) for schema, ids in rows if len(ids) >= 4]
    random.Random(args.seed).shuffle(rows)
    rows = rows[:args.limit]
    taken = set.intersection(*(usable(kind(tokens, stop, encode), rows, len(tokens)) for kind in wanted))
    rows = [row for i, row in enumerate(rows) if i in taken]
    print(f"{len(rows)} schemas, {sum(len(ids) for _, ids in rows)} tokens, {args.slots} slots, "
          f"{len(tokens)} tokens in the vocabulary")
    if len(rows) <= args.slots:
        sys.exit(f"stream_bench.py: more than --slots={args.slots} schemas are needed")
    for kind in wanted:
        steps, compiled = stream(kind(tokens, stop, encode), args.threads, rows, args.slots, len(tokens))
        print(f"{kind.name:12} {len(steps)} steps: " + ", ".join(
            f"{name} {value:,.0f} us" for name, value in zip(("median", "99%", "99.9%", "longest"), quantiles(steps)))
            + f" (step {steps.index(max(steps))}); a row {quantiles(steps)[0] / args.slots:.2f} us")
        print(" " * 13 + "compiling: " + ", ".join(
            f"{name} {value:,.0f} us" for name, value in zip(("median", "99%", "99.9%", "longest"), quantiles(compiled))))


if __name__ == "__main__":
    sys.exit(main())
