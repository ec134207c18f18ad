#!/usr/bin/env python3
"""Writes schemas drawn at random, for bench/schema_walk to find what is slow in them.

    python3 bench/random_schemas.py --count 3000 --seed 1 schemas.jsonl
    python3 bench/pack_schemas.py schemas.jsonl vocabulary.tiktoken packed.bin
    schema_walk packed.bin --random 2

They are of the size and with the names, formats and patterns of usual ones, but mix the keywords
more freely: about a fifth admits no value, or asks for what is not supported. For schemas that say
whether values are judged right see tests/python/schema_random.py.
"""

import argparse
import json
import random

NAMES = """
    id name type value items url date kind status count email tags meta config source target parent children x y width
    height color title description version enabled mode path size key ref user role group start end min max unit
""".split()
FORMATS = """
    date date-time email uri uuid hostname ipv4 ipv6 time duration uri-reference json-pointer regex iri
""".split()
PATTERNS = [
    "^[a-z]+$", "^[A-Z][a-z0-9_]*$", "^\\d{4}-\\d{2}$", "^(foo|bar)-", "[0-9]$", "^#?[0-9a-f]{6}$", "^[a-z0-9-]{1,63}$",
    "^\\S+$", "^(?!.*--)[a-z-]+$", "^v?\\d+\\.\\d+\\.\\d+", "^[^/]+/[^/]+$", ".*\\.json$", "^x-",
]  # fmt: skip


class Schemas:
    def __init__(self, seed):
        self.rng = random.Random(seed)

    def one(self):
        schema = self.object(self.rng.choice([2, 3, 4]))
        schema["$defs"] = {name: self.schema(2) for name in "ABC"}
        return schema

    def chance(self, share):
        return self.rng.random() < share

    def name(self):
        return self.rng.choice(NAMES)

    def schema(self, depth):
        if depth <= 0 or self.chance(0.4):
            return self.scalar()
        if self.chance(0.5):
            return self.object(depth)
        if self.chance(0.4):
            return self.array(depth)
        return self.combined(depth)

    def scalar(self):
        which = self.rng.random()
        if which < 0.5:
            return self.string()
        if which < 0.7:
            return self.number()
        if which < 0.8:
            return {"type": "boolean"}
        if which < 0.85:
            return {"type": ["string", "null"]}
        if which < 0.9:
            return {"$ref": "#/$defs/" + self.rng.choice("ABC")}
        return {"anyOf": [self.string(), self.number()]}

    def string(self):
        rng, which = self.rng, self.rng.random()
        if which < 0.25:
            return {"type": "string"}
        if which < 0.4:
            words = rng.choice([2, 5, 12, 60])
            return {"enum": [self.name() + rng.choice(["", "-", "_", "."]) + self.name() for _ in range(words)]}
        if which < 0.5:
            return {"const": self.name()}
        schema = {"type": "string"}
        if which < 0.65:
            schema["format"] = rng.choice(FORMATS)
        elif which < 0.85:
            schema["pattern"] = rng.choice(PATTERNS)
        if self.chance(0.3):
            schema["maxLength"] = rng.choice([5, 10, 50, 255, 4000])
        if self.chance(0.3):
            schema["minLength"] = rng.choice([1, 1, 2, 5])
        return schema

    def number(self):
        rng = self.rng
        schema = {"type": rng.choice(["integer", "number"])}
        if self.chance(0.4):
            schema["minimum"] = rng.choice([0, 1, -5, 0.5, -273.15, 1000])
        if self.chance(0.4):
            schema["maximum"] = rng.choice([10, 100, 65535, 3.14, 1e6, 2**31])
        if self.chance(0.15):
            schema["multipleOf"] = rng.choice([1, 5, 0.01, 0.5, 7, 100])
        if self.chance(0.1):
            schema["exclusiveMinimum"] = rng.choice([0, -1, 2.5])
        return schema

    def object(self, depth):
        rng = self.rng
        schema = {"type": "object"} if self.chance(0.9) else {}
        members = {}
        for _ in range(rng.choice([1, 2, 3, 5, 8, 15])):
            members[self.name() + rng.choice(["", "", "2", "Id"])] = self.schema(depth - 1)
        schema["properties"] = members
        names = list(members)
        if self.chance(0.6):
            schema["required"] = rng.sample(names, rng.randrange(len(names) + 1))
        which = rng.random()
        if which < 0.4:
            schema["additionalProperties"] = False
        elif which < 0.5:
            schema["additionalProperties"] = self.schema(depth - 1)
        elif which < 0.55:
            schema["unevaluatedProperties"] = False
        if self.chance(0.12):
            schema["patternProperties"] = {rng.choice(["^x-", "^[a-z]+$", "_id$", "^\\$"]): self.schema(depth - 1)}
        if self.chance(0.06):
            schema["propertyNames"] = {"pattern": rng.choice(["^[a-z]", "^[A-Za-z_]+$"])}
        if self.chance(0.08):
            schema["minProperties"] = rng.choice([1, 2])
        if self.chance(0.05):
            schema["maxProperties"] = rng.choice([3, 10])
        if self.chance(0.08):
            schema["dependentRequired"] = {rng.choice(names): [rng.choice(names)]}
        if self.chance(0.05):
            schema["dependentSchemas"] = {rng.choice(names): {"properties": {rng.choice(names): self.scalar()}}}
        if self.chance(0.08):
            schema["if"] = {"properties": {rng.choice(names): {"const": self.name()}}}
            schema["then"] = {"required": [rng.choice(names)]}
            if self.chance(0.5):
                schema["else"] = {"properties": {rng.choice(names): self.scalar()}}
        if self.chance(0.07):
            schema["not"] = {"required": [rng.choice(names)]}
        if self.chance(0.08):
            some = rng.sample(names, min(len(names), rng.choice([2, 3])))
            schema[rng.choice(["anyOf", "oneOf"])] = [{"required": [name]} for name in some]
        return schema

    def array(self, depth):
        rng = self.rng
        schema = {"type": "array", "items": self.schema(depth - 1)}
        if self.chance(0.3):
            schema["minItems"] = rng.choice([1, 2, 3])
        if self.chance(0.3):
            schema["maxItems"] = rng.choice([3, 5, 10, 100])
        if self.chance(0.15):
            schema["uniqueItems"] = True
        if self.chance(0.08):
            schema["contains"] = self.scalar()
        if self.chance(0.08):
            schema["prefixItems"] = [self.schema(depth - 1) for _ in range(rng.choice([1, 2, 3]))]
        return schema

    def combined(self, depth):
        rng = self.rng
        keyword = rng.choice(["anyOf", "oneOf", "allOf", "anyOf", "oneOf"])
        if keyword == "allOf":
            return {"allOf": [self.object(depth - 1) for _ in range(2)]}
        count = rng.choice([2, 2, 3, 5])
        if self.chance(0.5):
            branches = [self.schema(depth - 1) for _ in range(count)]
        else:  # told apart by a tag
            branches, tag = [], self.name()
            for i in range(count):
                branch = self.object(depth - 1)
                branch["properties"][tag] = {"const": f"{self.name()}{i}"}
                branch["required"] = sorted({tag, *branch.get("required", [])})
                branches.append(branch)
        schema = {keyword: branches}
        if self.chance(0.2):
            schema["properties"] = {self.name(): self.scalar()}
        return schema


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    schemas = Schemas(args.seed)
    with open(args.out, "w", encoding="utf-8") as out:
        for i in range(args.count):
            out.write(json.dumps({"id": f"{args.seed}_{i}", "schema": schemas.one()}) + "\n")


if __name__ == "__main__":
    main()
