#!/usr/bin/env python3
"""Packs schemas, documents and a vocabulary into one file for bench/schema_walk.

    python3 bench/pack_schemas.py schemas.jsonl[.gz] vocabulary.tiktoken packed.bin

Each line of the first file is {"id", "schema", "tests": [{"data" or "text", "valid"}]}; without tests
a schema can be walked at random. Documents are written by json.dumps and cut into tokens as Llama
3's tokenizer does. Needs tiktoken.

The file is little-endian words of 32 bits; a text is its length and its bytes. In order: how many
tokens, each a text; the stop token; how many schemas, and of each its name, its text, how many
documents, and of each whether it is valid, how many tokens, and their ids.
"""

import argparse
import gzip
import json
import struct
import sys

from batch_bench import load_vocabulary


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("schemas")
    parser.add_argument("vocabulary")
    parser.add_argument("packed")
    args = parser.parse_args()

    sys.setrecursionlimit(100_000)  # schemas may be deep
    tokens, stop, encode = load_vocabulary(args.vocabulary)

    with open(args.packed, "wb") as out:

        def number(value):
            out.write(struct.pack("<I", value))

        def text(data):
            number(len(data))
            out.write(data)

        number(len(tokens))
        for token in tokens:
            text(token)
        number(stop)
        unpacked = gzip.open if args.schemas.endswith(".gz") else open
        with unpacked(args.schemas, "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        number(len(rows))
        for row in rows:
            text(row["id"].encode())
            text(json.dumps(row["schema"], ensure_ascii=False).encode())
            tests = row.get("tests", [])
            number(len(tests))
            for test in tests:
                written = "text" in test
                ids = encode(test["text"] if written else json.dumps(test["data"], ensure_ascii=False))
                number(int(test["valid"]))
                number(len(ids))
                out.write(struct.pack(f"<{len(ids)}I", *ids))


if __name__ == "__main__":
    main()
