#!/usr/bin/env python3
"""Packs schemas, documents and a vocabulary into one file for bench/schema_walk.

    python3 bench/pack_schemas.py schemas.jsonl[.gz] vocabulary.tiktoken packed.bin

Each line of the first file is {"id", "schema", "tests": [{"data" or "text", "valid"}]}. Documents
are written by json.dumps and cut into tokens as Llama 3's tokenizer does. Needs tiktoken.

The file is little-endian words of 32 bits; a text is its length and its bytes. In order: how many
tokens, each a text; the stop token; how many schemas, and of each its name, its text, how many
documents, and of each whether it is valid, how many tokens, and their ids.
"""

import argparse
import gzip
import json
import struct
import sys

SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SPECIAL = 256  # after the texts of the vocabulary; the second of them is the stop token


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("schemas")
    parser.add_argument("vocabulary")
    parser.add_argument("packed")
    args = parser.parse_args()

    import tiktoken
    from tiktoken.load import load_tiktoken_bpe

    sys.setrecursionlimit(100_000)  # schemas may be deep
    ranks = load_tiktoken_bpe(args.vocabulary)
    encoding = tiktoken.Encoding("llama3", pat_str=SPLIT, mergeable_ranks=ranks, special_tokens={})
    tokens = [b""] * len(ranks) + [b"<|reserved_%d|>" % i for i in range(SPECIAL)]
    for text, rank in ranks.items():
        tokens[rank] = text

    with open(args.packed, "wb") as out:

        def number(value):
            out.write(struct.pack("<I", value))

        def text(data):
            number(len(data))
            out.write(data)

        number(len(tokens))
        for token in tokens:
            text(token)
        number(len(ranks) + 1)
        with (gzip.open if args.schemas.endswith(".gz") else open)(args.schemas, "rt") as lines:
            rows = [json.loads(line) for line in lines]
        number(len(rows))
        for row in rows:
            text(row["id"].encode())
            text(json.dumps(row["schema"], ensure_ascii=False).encode())
            number(len(row["tests"]))
            for test in row["tests"]:
                document = test.get("text") or json.dumps(test["data"], ensure_ascii=False)
                ids = encoding.encode_ordinary(document)
                number(int(test["valid"]))
                number(len(ids))
                out.write(struct.pack(f"<{len(ids)}I", *ids))


if __name__ == "__main__":
    main()
