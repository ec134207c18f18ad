#!/usr/bin/env python3
"""Patterns and format `regex` against a JavaScript engine.

usage: regex_oracle.py [--patterns 20000] [--walks 5000] [--seed 1] [--node node]

JSON Schema's patterns are those of ECMA-262, so Node.js (of any Debian: apt-get install nodejs) is asked:
- each of the random patterns, with flag u, is tried on two dozen random texts; a string under `pattern` must
  be accepted exactly where it matches. Of texts at which a limit of the matcher is met nothing is said.
- random walks through `{"type": "string", "format": "regex"}`, half of them inside a class from the first
  character on: RegExp must read each text that they end with.
Exits 1 where the two differ. Texts hold nothing beyond U+FFFF: V8 begins searches inside such characters too.
Half a minute.
"""
import argparse
import collections
import json
import random
import subprocess
import sys

import numpy as np

import grammask as gm

ATOMS = [
    "a", "b", "c", "0", "1", "-", "_", r"\.", " ", "é", "я", r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", ".", "[a-c]",
    "[^a-c]", r"[\w-]", "[0-9a-f]", r"\u0041", r"\x41", r"[^\s]", "[^/]", "/", "[à-ü]", r"\n", r"\t", r"[\s\S]",
    r"\p{L}", r"\p{Lu}", r"\p{Nd}", "A", "B", '"', r"\\", r'[\\"]']
QUANTIFIERS = ["", "", "", "", "*", "+", "?", "{2}", "{1,2}", "{2,}", "{0,3}", "*?", "+?", "??"]
CHARACTERS = list('abc01-_. éяABZz/"\\\n\t\r') + ["\u00a0", "ü", "\u0663", "\u2028"]
PIECES = [
    "[^", "[^-", "-]", "(?:", "(?=", "(?<n>", r"\\k<n>", r"\\1", r"\\d", r"\\w", "a-z", "{2,3}", r"[\\w-", "^-", "--",
    "[-", r"\\x41", r"\\u0041", r"\\b", r"\\cA", "[a^-", "(?<!", "|", "*?", "+", "{1", "{10", "{12,", ",1", r"\\x0",
    r"\\x1f-", r"\\u00", r"-\\u0", r"-\\x", r"\\[-", r"-\\", r"\\u06", r"\\u20", r"-\\u2", r"\\0", r"\\0-", r"\\n-"]

TRY_PATTERNS = """
const results = JSON.parse(require('fs').readFileSync(0)).map(([pattern, texts]) => {
  try { const re = new RegExp(pattern, 'u'); return texts.map(text => re.test(text)); } catch (e) { return null; }
});
console.log(JSON.stringify(results));
"""
READ_PATTERNS = """
const refused = JSON.parse(require('fs').readFileSync(0)).flatMap(pattern => {
  try { new RegExp(pattern); return []; } catch (e) { return [[pattern, e.message]]; }
});
console.log(JSON.stringify(refused));
"""


def ask(node, script, question):
    """What the script says of the question, both JSON."""
    done = subprocess.run([node, "-e", script], input=json.dumps(question), capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"regex_oracle: {node} failed: {done.stderr.strip()[-500:]}")
    return json.loads(done.stdout)


def alternatives(rng, depth):
    """A random pattern with groups and lookarounds `depth` deep."""
    parts = [sequence(rng, depth)]
    while rng.random() < 0.25:
        parts.append(sequence(rng, depth))
    return "|".join(parts)


def sequence(rng, depth):
    """Some of its terms."""
    out = []
    for _ in range(rng.randint(1, 4)):
        kind = rng.randrange(20)
        if kind < 14 or depth == 0:
            out.append(rng.choice(ATOMS) + rng.choice(QUANTIFIERS))
        elif kind < 17:
            out.append(rng.choice(["(", "(", "(?:"]) + alternatives(rng, depth - 1) + ")" + rng.choice(QUANTIFIERS))
        elif kind < 18:
            out.append(rng.choice(["(?=", "(?!"]) + alternatives(rng, depth - 1) + ")")
        elif kind < 19:
            out.append(rng.choice(["^", "$", r"\b", r"\B"]))
        else:
            out.append(rng.choice(["(?<=", "(?<!"]) + rng.choice(ATOMS) + ")")
    return "".join(out)


def new_compiler(pieces):
    """A compiler for all bytes and these pieces, and the vocabulary, whose last token ends a text."""
    vocab = [bytes([b]) for b in range(256)] + [piece.encode() for piece in pieces] + [b"</s>"]
    return gm.GrammarCompiler(gm.TokenizerInfo(vocab, stop_token_ids=[len(vocab) - 1])), vocab


def accepts(grammar, text, stop):
    """Whether the grammar takes the text; None where a limit is met."""
    matcher = gm.GrammarMatcher(grammar)
    for byte in json.dumps(text, ensure_ascii=False).encode():
        if not matcher.accept_token(byte):
            try:
                matcher.fill_next_token_bitmask(np.empty((1, (stop + 32) // 32), dtype=np.int32))
            except gm.LimitError:
                return None
            return False
    return matcher.accept_token(stop)


def check_patterns(args, rng):
    """Compares patterns; how many differ."""
    cases = []
    for _ in range(args.patterns):
        pattern = rng.choice(["", "^"]) + alternatives(rng, 2) + rng.choice(["", "$"])
        texts = ["".join(rng.choices(CHARACTERS, k=rng.randrange(7))) for _ in range(24)]
        cases.append((pattern, texts))
    compiler, vocab = new_compiler([])
    counts = collections.Counter()
    for (pattern, texts), matches in zip(cases, ask(args.node, TRY_PATTERNS, cases)):
        if matches is None:
            continue  # none of its patterns
        try:
            grammar = compiler.compile_json_schema(json.dumps({"type": "string", "pattern": pattern}))
        except RuntimeError as e:
            if "too many states" in str(e):
                counts["patterns refused at a limit"] += 1
                continue
            if "unsatisfiable" not in str(e):
                raise
            grammar = None
        for text, matched in zip(texts, matches):
            accepted = grammar is not None and accepts(grammar, text, len(vocab) - 1)
            counts["texts" if accepted is not None else "texts at a limit"] += 1
            counts["matches"] += matched
            if accepted is not None and accepted != matched:
                counts["different"] += 1
                print(f"pattern {pattern!r}, text {text!r}: {matched} there, {accepted} here")
    print(", ".join(f"{name} {count}" for name, count in sorted(counts.items())))
    return counts["different"]


def check_format(args, rng):
    """Walks through format regex; how many texts are not read."""
    compiler, vocab = new_compiler(PIECES)
    grammar = compiler.compile_json_schema('{"type": "string", "format": "regex"}')
    row = np.empty((1, (len(vocab) + 31) // 32), dtype=np.int32)
    stop, quote = len(vocab) - 1, ord('"')
    special = set(b"[]-^\\()")
    texts = []
    for _ in range(args.walks):
        matcher = gm.GrammarMatcher(grammar)
        text = b'"[' if rng.random() < 0.5 else b'"'
        for byte in text:
            matcher.accept_token(byte)
        enough = rng.randint(2, 24)
        for step in range(400):
            matcher.fill_next_token_bitmask(row)
            allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8)[0], bitorder="little")[:len(vocab)]).tolist()
            if stop in allowed:
                texts.append(json.loads(text))
                break
            if step > enough and quote in allowed:
                token = quote
            else:
                of_regexes = [t for t in allowed if t >= 256 or t in special]
                ascii_only = [t for t in allowed if t < 127]
                kind = rng.random()
                token = rng.choice(of_regexes if kind < 0.6 and of_regexes else
                                   ascii_only if kind < 0.95 and ascii_only else allowed)
            matcher.accept_token(token)
            text += vocab[token]
    refused = ask(args.node, READ_PATTERNS, texts)
    for pattern, message in refused:
        print(f"format regex: {pattern!r} is not read: {message}")
    print(f"regexes {len(texts)}, refused {len(refused)}")
    return len(refused)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--patterns", type=int, default=20000)
    parser.add_argument("--walks", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--node", default="node")
    args = parser.parse_args()
    rng = random.Random(args.seed)
    different = check_patterns(args, rng) + check_format(args, rng)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
