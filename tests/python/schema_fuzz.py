"""Random schemas, compiled, against the jsonschema package, both ways.

For each schema: documents sampled from the compiled grammar must be valid; values that try to meet the schema,
and small changes of sampled documents, must be accepted exactly when they are valid, whatever the order of
their keys (any_order=True), or in some order (any_order=False). A schema refused as unsatisfiable must have no valid value among
them. A schema refused as unsupported is counted by its keyword, and its superset (on_unsupported="widen") must
accept what is valid and say that it is wider.

    python tests/python/schema_fuzz.py --seconds 600 --seed 1

Each difference is reduced: keywords and parts of the document are dropped while it persists.
"""

import argparse
import collections
import copy
import faulthandler
import itertools
import json
import math
import pathlib
import random
import re
import sys
import time
from decimal import Decimal

import numpy

import grammask as gm

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from schema_judge import Judge, Unjudgeable, dump, has_repeated_key, parse, spell
from schema_random import DRAFT_2019, FORMATS as EXACT_FORMATS, LATEST, NAMES, OLD_DRAFTS, STRINGS, Schemas, Values, mutate_schema, mutate_value

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "generated_schemas"

WORDS = sorted(
    {"true", "false", "null", '{"', '"}', '":', '": ', '", "', ", ", "[]", "{}", "[{", "}]", "},", '["', '"]', "[[", "]]", "\\u00", "e+", ".5", ".0"}
    | {'"' + name for name in NAMES + ["kind", "type"]}
    | {name + '"' for name in NAMES}
    | {s for s in STRINGS if len(s) > 1 and s.isascii() and s.isprintable()}
    | {f'"{s}"' for s in STRINGS[:40] if '"' not in s and s.isprintable()}
    | {str(n) for n in range(10, 40)}
    | {"é", "😀", "2024-", "-01", "10:", "00Z", "::", "1.1."}
)  # fmt: skip
TOKENS = [bytes([b]) for b in range(256)] + [w.encode() for w in WORDS] + [b"</s>"]
STOP = len(TOKENS) - 1
FORMAT = re.compile(r'"format": "([^"]*)"')
INVERTING = re.compile(r'"(not|oneOf|if|contains|uniqueItems|dependen\w*|unevaluated\w*)":')
OLD_KEYWORDS = re.compile(r'"(dependencies|additionalItems|id|definitions)":|"items": \[')
STEADY = 28  # tokens after which a sample is steered to its end


def _weight(token):
    if len(token) > 1:
        return 4.0
    c = token[0]
    if c in b'"':
        return 22.0
    if c in b"]}":
        return 9.0
    if c in b"\\":
        return 0.15
    if c in b" \n\r\t":
        return 0.2
    return 1.0 if 0x20 < c < 0x7F else 0.03


WEIGHTS = numpy.array([_weight(token) for token in TOKENS])
WEIGHTS[STOP] = 0


def make_compiler():
    return gm.GrammarCompiler(gm.TokenizerInfo(TOKENS, stop_token_ids=[STOP]))


def sample(compiled, rng):
    """One text of the grammar, drawn token by token."""
    matcher = gm.GrammarMatcher(compiled)
    mask = numpy.zeros(gm.get_bitmask_shape(1, len(TOKENS)), dtype=numpy.int32)
    out = []
    while True:
        matcher.fill_next_token_bitmask(mask)
        bits = numpy.unpackbits(mask.view(numpy.uint8), bitorder="little")[: len(TOKENS)]
        if bits[STOP] and (len(out) > STEADY or rng.random() < 0.5):
            break
        weights = bits * WEIGHTS
        total = weights.cumsum()
        if not total[-1]:
            assert bits[STOP], b"".join(out)
            break
        if len(out) <= STEADY:
            token = int(total.searchsorted(rng.random() * total[-1], side="right"))
        else:
            allowed = numpy.flatnonzero(weights).tolist()
            if len(allowed) > 24 and len(out) < 3 * STEADY:
                allowed = rng.choices(allowed, k=12) + [t for t in (0x22, 0x5D, 0x7D, 0x30) if bits[t]]
            token = min(allowed, key=matcher.shortest_completion_after)
        assert matcher.accept_token(token)
        out.append(TOKENS[token])
    return b"".join(out).decode("utf-8")


def accepts(compiled, text):
    matcher = gm.GrammarMatcher(compiled)
    return matcher.accept_string(text) and matcher.is_completed()


def shuffled(value, rng):
    if isinstance(value, dict):
        keys = list(value)
        rng.shuffle(keys)
        return {key: shuffled(value[key], rng) for key in keys}
    if isinstance(value, list):
        return [shuffled(item, rng) for item in value]
    return value


def orders(value):
    """The number of ways to order the keys of all objects in a value."""
    if isinstance(value, dict):
        return math.factorial(len(value)) * math.prod(orders(v) for v in value.values())
    return math.prod(orders(v) for v in value) if isinstance(value, list) else 1


def all_orders(value):
    if isinstance(value, dict):
        for keys in itertools.permutations(value):
            for parts in itertools.product(*(list(all_orders(value[key])) for key in keys)):
                yield dict(zip(keys, parts))
    elif isinstance(value, list):
        for parts in itertools.product(*(list(all_orders(item)) for item in value)):
            yield list(parts)
    else:
        yield value


def _has_decimal(value):
    if isinstance(value, (dict, list)):
        return any(map(_has_decimal, value.values() if isinstance(value, dict) else value))
    return isinstance(value, Decimal)


class Refused(Exception):
    def __init__(self, kind, error):
        super().__init__(str(error))
        self.kind = kind


class Fuzzer:
    def __init__(self, seed, samples=30, candidates=40, out=None, skip=(), seeds=None):
        self.rng = random.Random(seed)
        self.samples = samples
        self.candidates = candidates
        self.out = out
        self.skip = [json.dumps(word) + ":" for word in skip]
        self.counts = collections.Counter()
        self.refusals = collections.Counter()
        self.differences = []
        self.slow = []
        self.repeated = None
        self.seeds = []
        self.from_seeds = 0.2  # the part of the schemas that are mutations of these
        for path in [pathlib.Path(seeds)] if seeds else sorted(DATA.glob("*.jsonl")):
            for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
                case = json.loads(line, parse_float=Decimal)
                if isinstance(case["schema"], dict) and "dialect" not in case and len(line) < 3000 and "prefixItems\": []" not in line:
                    self.seeds.append(case["schema"])
        self.compiler = make_compiler()
        self.any_order = True
        try:
            self.compiler.compile_json_schema("true", any_order=True)
        except gm.GrammaskError:
            self.any_order = False

    # One schema.

    def compile(self, text, **options):
        """The compiled grammar, or Refused: unsupported, unsatisfiable, limit, invalid."""
        start = time.perf_counter()
        try:
            return self.compiler.compile_json_schema(text, strict_mode=options.pop("strict_mode", False), **options)
        except gm.LimitError as error:
            raise Refused("limit", error) from None
        except gm.SchemaError as error:
            raise Refused(error.code, error) from None
        except gm.GrammaskError as error:
            raise Refused("error " + error.code, error) from None
        finally:
            took = time.perf_counter() - start
            self.counts["compile ms"] += int(took * 1000)
            if took > 2:
                self.slow.append((round(took, 1), text))

    def make_schema(self):
        rng = self.rng
        uri = rng.choice([None, None, LATEST, LATEST, DRAFT_2019] + OLD_DRAFTS)
        if rng.random() < self.from_seeds and self.seeds:
            schema = copy.deepcopy(rng.choice(self.seeds))
            draft = Schemas(rng, schema.get("$schema"))
            for _ in range(rng.randint(0, 2)):
                schema = mutate_schema(schema, rng, draft)
            return schema
        return Schemas(rng, uri).root()

    def step(self):
        """One random schema and its documents."""
        rng = self.rng
        schema = self.make_schema()
        text = dump(schema, ascii_only=rng.random() < 0.2)
        if any(word in text for word in self.skip):
            return
        self.counts["schemas"] += 1
        try:
            judge = Judge(text)
        except Exception as error:  # no schema, or a pattern that Python does not read
            self.counts["schemas not judged"] += 1
            self.refusals["judge: " + type(error).__name__] += 1
            return
        if "$schema" not in schema and OLD_KEYWORDS.search(text):
            self.counts["schemas not judged"] += 1  # understood here, and not by the judge of the newest draft
            return
        # Of other formats the checkers admit more than the grammar does, or nothing checks them.
        self.lax = any(name not in EXACT_FORMATS and name != "unknown" for name in FORMAT.findall(text))
        if self.lax and INVERTING.search(text):
            self.counts["schemas not judged"] += 1
            return
        spaces = {"any_whitespace": rng.random() < 0.4}
        values = Values(rng, schema)
        try:
            compiled = self.compile(text, any_order=self.any_order, **spaces)
        except Refused as refused:
            self.refused(refused, text, schema, judge, values)
            return
        except Exception as error:
            self.difference("crash", text, repr(error), None)
            return
        self.counts["schemas compiled"] += 1
        if getattr(compiled, "warnings", None):
            self.difference("warns without widen", text, "", None)
        found = self.check_samples(compiled, text, judge)
        self.check_candidates(compiled, text, judge, values, found)
        kind = rng.random()
        try:
            if kind < 0.35 and self.any_order:
                ordered = self.compile(text, any_order=False, **spaces)
                more = self.check_samples(ordered, text, judge, any_order=False, count=self.samples // 2)
                self.check_in_order(ordered, text, judge, values, found + more)
            elif kind < 0.42:
                layout = {"any_whitespace": False, "indent": rng.choice([None, 0, 2])}
                layout["separators"] = rng.choice([None, (",", ":"), (" , ", " : ")])
                fixed = self.compile(text, any_order=self.any_order, **layout)
                self.check_samples(fixed, text, judge, count=self.samples // 3, **layout)
                self.check_layout(fixed, text, judge, values, found, layout)
            elif kind < 0.55:
                strict = self.compile(text, any_order=self.any_order, strict_mode=True, **spaces)
                self.check_samples(strict, text, judge, strict_mode=True, count=self.samples // 3)
        except Refused as refused:
            if not (kind >= 0.35 and refused.kind == "unsatisfiable"):
                self.refusals[f"only with other options: {refused.kind}"] += 1

    def verdict(self, judge, value):
        try:
            return judge.is_valid(value)
        except Unjudgeable as error:
            self.counts["values not judged"] += 1
            self.refusals["not judged: " + str(error)[:60]] += 1
            return None

    def check_samples(self, compiled, text, judge, count=None, **options):
        found = []
        for _ in range(count or self.samples):
            try:
                document = sample(compiled, self.rng)
                value = parse(document)
            except Unjudgeable:
                self.counts["values not judged"] += 1
                continue
            except (AssertionError, ValueError) as error:
                self.difference("sample is no JSON", text, repr(error), None, **options)
                continue
            verdict = self.verdict(judge, value)
            if verdict is None:
                continue
            self.counts["samples"] += 1
            if verdict:
                found.append(value)
            elif has_repeated_key(document):
                self.counts["samples with a repeated key, invalid"] += 1
                self.repeated = (text, document)
            else:
                self.difference("takes invalid", text, document, False, **options)
            if self.rng.random() < 0.1 and not accepts(compiled, document):
                self.difference("refuses its own sample", text, document, verdict, **options)
        return found

    def pool(self, values, found):
        rng = self.rng
        if found and rng.random() < 0.5:
            value = mutate_value(rng.choice(found), rng)
            return mutate_value(value, rng) if rng.random() < 0.3 else value
        return values.value(values.root)

    def check_candidates(self, compiled, text, judge, values, found):
        rng = self.rng
        for _ in range(self.candidates):
            value = self.pool(values, found)
            if self.any_order:
                value = shuffled(value, rng)
            document = dump(value, ascii_only=rng.random() < 0.3)
            if rng.random() < 0.15:
                document = spell(value, rng, fractions="draft-04" not in text)
            verdict = self.verdict(judge, parse(document))
            if verdict is None:
                continue
            self.counts["valid" if verdict else "invalid"] += 1
            if accepts(compiled, document) == verdict or (verdict and self.lax):
                continue
            if verdict and not self.any_order and self.some_order(compiled, value) is not False:
                continue
            self.difference("refuses valid" if verdict else "takes invalid", text, document, verdict)

    def some_order(self, compiled, value):
        """Whether the value is accepted in some order of its keys; None where there are too many."""
        if orders(value) > 150:
            return None
        return any(accepts(compiled, dump(other)) for other in all_orders(value))

    def check_in_order(self, compiled, text, judge, values, found):
        for _ in range(self.candidates // 3):
            value = self.pool(values, found)
            verdict = self.verdict(judge, value)
            if verdict is None:
                continue
            if verdict and self.lax:
                continue
            accepted = self.some_order(compiled, value)
            self.counts["valid, in some order" if verdict else "invalid, in every order"] += accepted is not None
            if accepted is not None and accepted != verdict:
                kind = "refuses valid" if verdict else "takes invalid"
                self.difference(kind, text, dump(value), verdict, any_order=False)

    def check_layout(self, compiled, text, judge, values, found, layout):
        """What json.dumps writes with an indent and separators is accepted exactly when it is valid."""
        layout = {key: value for key, value in layout.items() if key != "any_whitespace"}
        for _ in range(self.candidates // 3):
            value = shuffled(self.pool(values, found), self.rng)
            verdict = None if _has_decimal(value) else self.verdict(judge, value)
            if verdict is None or (verdict and (self.lax or not self.any_order)):
                continue
            self.counts["valid" if verdict else "invalid"] += 1
            document = json.dumps(value, ensure_ascii=False, **layout)
            if accepts(compiled, document) != verdict:
                kind = "refuses valid layout" if verdict else "takes invalid layout"
                self.difference(kind, text, document, verdict, **layout)

    def refused(self, refused, text, schema, judge, values):
        self.counts["schemas refused"] += 1
        valid = []
        for _ in range(self.candidates * 2):
            value = values.value(schema)
            if self.verdict(judge, value):
                valid.append(value)
        if refused.kind == "unsatisfiable":
            self.refusals["unsatisfiable"] += 1
            if valid and not self.lax:
                self.difference("not unsatisfiable", text, dump(valid[0]), True)
            return
        if refused.kind == "invalid_argument" and re.search(r"[rR]ef: .* names ", str(refused)):
            self.refusals["a reference to nothing"] += 1  # the mutation took it away
            return
        if refused.kind not in ("unsupported", "limit"):
            self.difference(f"refused as {refused.kind}", text, str(refused).splitlines()[0], None)
            return
        where = re.match(r"#?([^:\s]*)", str(refused)).group(1).split("/")
        reason = re.sub(r"[^:]*: ", "", str(refused).splitlines()[0], count=1)
        self.refusals[f"{refused.kind}: {where[-1]}: {reason[:110]}"] += 1
        if refused.kind != "unsupported":
            return
        try:
            wide = self.compiler.compile_json_schema(text, strict_mode=False, any_order=self.any_order, on_unsupported="widen")
        except TypeError:
            return  # no such option
        except gm.GrammaskError as error:
            self.refusals[f"widen: {error.code}: {str(error).splitlines()[0][-110:]}"] += 1
            return
        self.counts["schemas widened"] += 1
        if not wide.warnings:
            # Another way of combining the schema had an exact form: then it must be exact.
            judge = Judge(text)
            for _ in range(5):
                document = sample(wide, self.rng)
                if document is None or self.lax or has_repeated_key(document):
                    continue
                if self.verdict(judge, parse(document)) is False:
                    self.difference("widened in silence", text, document, None)
        for value in valid if not self.lax else []:
            self.counts["valid, widened"] += 1
            if not accepts(wide, dump(value)) and (self.any_order or self.some_order(wide, value) is False):
                self.difference("refuses valid", text, dump(value), True, on_unsupported="widen")
                break

    # Differences.

    def difference(self, kind, text, document, verdict, **options):
        self.counts["differences"] += 1
        if len(self.differences) < 200:
            if verdict is not None and kind in ("takes invalid", "refuses valid", "not unsatisfiable"):
                text, document = self.reduce(kind, text, document, verdict, options)
            again = any(kind == k and text == t for k, t, _, _ in self.differences)
            self.differences.append((kind, text, document, options))
            if self.out and not again:
                print(f"DIFFERENCE {kind} {options or ''}\n  schema   {text}\n  document {document}", file=self.out, flush=True)

    def persists(self, kind, schema, value, verdict, options):
        try:
            text = dump(schema)
            judge = Judge(text)
            if judge.is_valid(value) != verdict:
                return False
            ordered = {"any_order": self.any_order, "any_whitespace": True, **options}
            try:
                compiled = self.compile(text, **ordered)
            except Refused as refused:
                return kind == "not unsatisfiable" and refused.kind == "unsatisfiable"
            if kind == "not unsatisfiable":
                return False
            if ordered["any_order"]:
                return accepts(compiled, dump(value)) != verdict
            accepted = self.some_order(compiled, value)
            return accepted is not None and accepted != verdict
        except Exception:
            return False

    def reduce(self, kind, text, document, verdict, options, seconds=6):
        schema = json.loads(text, parse_float=Decimal)
        value = parse(document)
        end = time.monotonic() + seconds
        if not self.persists(kind, schema, value, verdict, options):
            return text, document
        changed = True
        while changed and time.monotonic() < end:
            changed = False
            for smaller in itertools.chain(_smaller(schema)):
                if time.monotonic() > end:
                    break
                if self.persists(kind, smaller, value, verdict, options):
                    schema, changed = smaller, True
                    break
            if changed:
                continue
            for smaller in _smaller(value):
                if time.monotonic() > end:
                    break
                if self.persists(kind, schema, smaller, verdict, options):
                    value, changed = smaller, True
                    break
        return dump(schema), dump(value)

    def report(self):
        lines = [f"{name}: {count}" for name, count in sorted(self.counts.items())]
        lines += [f"  {count:6} {reason}" for reason, count in self.refusals.most_common(40)]
        if self.repeated:
            lines.append(f"repeated key: {self.repeated[1][:300]} of {self.repeated[0][:600]}")
        lines += [f"slow: {seconds} s {text[:300]}" for seconds, text in sorted(self.slow)[-5:]]
        return "\n".join(lines)

    @property
    def documents(self):
        names = ("samples", "valid", "invalid", "valid, in some order", "invalid, in every order", "valid, widened")
        return sum(self.counts[name] for name in names)


def _smaller(node):
    """The nodes that come from dropping or simplifying one part; big parts first."""
    if isinstance(node, dict):
        for key in list(node):
            yield {k: v for k, v in node.items() if k != key}
        for key, value in node.items():
            if isinstance(value, (dict, list)):
                if isinstance(value, dict) and value and key not in ("properties", "$defs", "definitions"):
                    yield {**node, key: {}}
                for smaller in _smaller(value):
                    yield {**node, key: smaller}
    elif isinstance(node, list):
        for i in range(len(node)):
            yield node[:i] + node[i + 1 :]
        for i, value in enumerate(node):
            for smaller in _smaller(value):
                yield node[:i] + [smaller] + node[i + 1 :]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--documents", type=int, default=0, help="stop after so many")
    parser.add_argument("--skip", nargs="*", default=[], help="leave out schemas with these keywords")
    parser.add_argument("--seeds", help='more schemas to start from: JSON lines with a "schema"')
    arguments = parser.parse_args()
    faulthandler.enable()
    fuzzer = Fuzzer(arguments.seed, out=sys.stdout, skip=arguments.skip, seeds=arguments.seeds)
    if arguments.seeds:
        fuzzer.from_seeds = 0.9
    start = time.monotonic()
    while time.monotonic() - start < arguments.seconds:
        if arguments.documents and fuzzer.documents >= arguments.documents:
            break
        fuzzer.step()
    print(fuzzer.report())
    print(f"documents checked: {fuzzer.documents}, differences: {fuzzer.counts['differences']}")
    return 1 if fuzzer.counts["differences"] else 0


if __name__ == "__main__":
    sys.exit(main())
