"""Random schemas over the keywords of all drafts, and values that lie near a schema's borders."""

from decimal import Decimal

LATEST = "https://json-schema.org/draft/2020-12/schema"
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"
OLD_DRAFTS = [
    "http://json-schema.org/draft-07/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-04/schema#",
]
NAMES = ["a", "b", "c", "ab", "x1", "xy", "é", "a/b~"]
PATTERNS = [
    "^a", "b$", "^[a-c]+$", "^[a-z]{2,4}$", "[0-9]{2}", "^(ab|cd)*$", r"^\d{1,3}$", "^[^a]*$", "a.c", "^$",
    "^(?=.*[0-9])(?=.*[a-z]).{2,5}$", "^(?!ab)[a-d]{1,4}$", r"\bab\b", r"^\w+-\w+$", "^x", "y$", "^.{3}$",
    "(?!.*aa)^[ab]*$", "^é", "^(?:a|b)?c*$", "^[a-z]*[0-9]$", "^[a-z]+(,[a-z]+)*$", r"\Bb", "^(a|b(?=c)).*$",
]  # fmt: skip
KEY_PATTERNS = ["^x", "y$", "^[ab]", "[0-9]$", "^.$", "^(?!a)", "b"]
STRINGS = [
    "", "a", "b", "c", "ab", "ba", "abc", "aab", "aba", "abab", "cd", "abcd", "dcba", "a1", "1a", "x1", "12", "7", "123", "1234",
    "x-", "x-a", "a-b", "xy", "y", "xx", "ab cd", "é", "éa", "aXc", "a c", "bc", "bcb", 'a"b', "\\", "\n", "a\n", "a/b", "a/b~", "😀",
    "😀😀", "A", "0", "zz", "ccc", "aaaa", "bbbb", "a,b", "a,", "z9", "abcde", "null", "d", "e", "\u2028bc",
]  # fmt: skip
# Formats whose checkers and grammars admit the same strings, with examples.
FORMATS = {
    "date": ["2024-02-29", "2023-02-29", "1999-12-31", "2024-1-1"],
    "time": ["10:20:30Z", "10:20:30.5+01:00", "25:00:00Z", "10:20:30"],
    "date-time": ["2024-02-29T10:20:30Z", "2023-02-29T10:20:30Z", "2024-02-29 10:20:30"],
    "ipv4": ["1.2.3.4", "255.255.255.255", "256.1.1.1", "1.2.3"],
    "ipv6": ["::1", "1::2:3", "1:2:3:4:5:6:7:8", ":::", "::1.2.3.4"],
    "json-pointer": ["", "/a/b", "/a~0", "a", "/~2"],
}
# Formats whose checkers admit more, or for which there is none.
# Not drawn are those whose checkers refuse what the standards allow (a regex by ECMA-262 that Python
# does not read, "100" as a relative JSON pointer, letters of a later Unicode).
LAX_FORMATS = ["uuid", "email", "hostname", "uri", "uri-reference", "duration", "iri", "uri-template"]
FORMAT_STRINGS = [text for texts in FORMATS.values() for text in texts]
NUMBERS = [0, 1, 2, 3, 4, 5, 6, 7, 10, 12, 15, -1, -2, -6, 100, 2**53 + 1, -(2**63)] + [
    Decimal(text) for text in ["0.5", "1.0", "-0.5", "2.50", "0.1", "3.0", "-1.0", "0.25", "9.99"]
]
TYPES = ["string", "integer", "number", "boolean", "null", "array", "object"]


class Schemas:
    """Random schemas of one draft, from one source of chance."""

    def __init__(self, rng, uri):
        self.rng = rng
        self.uri = uri
        self.new = uri in (LATEST, None)
        self.since_2019 = self.new or uri == DRAFT_2019
        self.draft4 = uri is not None and "draft-04" in uri
        self.defs = 0  # definitions 0..defs-1 exist
        self.anchored = set()
        self.to_root = set()  # the words by which something refers to the root
        self.here = 0  # definitions from here on may be referred to without a step into the value
        self.density = rng.choice([0.7, 1, 1, 1.5, 2.2])  # of keywords

    def chance(self, p):
        return self.rng.random() < p

    def dense(self, p):
        return self.rng.random() < min(0.9, p * self.density)

    def root(self):
        rng = self.rng
        self.defs = rng.choice([0, 0, 1, 2, 3])
        self.here = self.defs
        defs = {}
        self.anchored = {i for i in range(self.defs) if self.since_2019 and self.chance(0.2)}
        self.to_root = set()
        for i in range(self.defs):
            self.here = i + 1
            made = self.schema(2)
            if i in self.anchored:
                made = {"$anchor": f"n{i}", **(made if isinstance(made, dict) else {"allOf": [made]})}
            defs[f"d{i}"] = made
        self.here = 0
        schema = self.schema(3)
        if isinstance(schema, bool):
            schema = {} if schema else {"not": {}}
        if "$dynamicRef" in self.to_root:
            schema["$dynamicAnchor"] = "node"
        if "$recursiveRef" in self.to_root and self.chance(0.7):
            schema["$recursiveAnchor"] = True
        if defs:
            schema["$defs" if self.since_2019 else "definitions"] = defs
        return {"$schema": self.uri, **schema} if self.uri else schema

    def schema(self, depth, focus=None):
        """focus: the type that the schema should speak of."""
        rng = self.rng
        if self.chance(0.05) and not self.draft4:
            return rng.random() < 0.7
        if self.chance(0.10):
            return self.values(focus)
        if self.chance(0.10) and self.here < self.defs:
            return self.reference(depth)
        if focus is None or self.chance(0.1):
            focus = rng.choice(["string", "number", "integer", "array", "array", "object", "object", "object", "boolean", "any"])
        if depth <= 0 and focus in ("array", "object"):
            focus = rng.choice(["string", "integer", "boolean", "null"])
        schema = {}
        if self.chance(0.8) and focus != "any":
            schema["type"] = focus if self.chance(0.85) else sorted({focus, rng.choice(TYPES)})
        {"string": self.string, "number": self.number, "integer": self.number, "array": self.array,
         "object": self.object}.get(focus, lambda s, d: None)(schema, depth)  # fmt: skip
        for _ in range(2):
            if depth > 0 and self.dense(0.25):
                self.combine(schema, depth, focus)
        if focus == "object" and self.since_2019 and self.dense(0.12):
            schema["unevaluatedProperties"] = self.step(depth - 1) if self.chance(0.4) else False
        if focus == "array" and self.since_2019 and self.dense(0.1):
            schema["unevaluatedItems"] = self.step(depth - 1) if self.chance(0.4) else False
        if self.chance(0.05):
            schema["description"] = "text"
        items = list(schema.items())
        if self.chance(0.3):
            rng.shuffle(items)
        return dict(items)

    def step(self, depth, focus=None):
        """A schema of a part of the value: recursion is harmless there."""
        if focus is None and self.chance(0.04):
            words = ["$ref"] + (["$dynamicRef"] if self.new else ["$recursiveRef"] if self.since_2019 else [])
            word = self.rng.choice(words)
            self.to_root.add(word)
            return {word: "#node" if word == "$dynamicRef" else "#"}
        here, self.here = self.here, 0
        schema = self.schema(depth, focus)
        self.here = here
        return schema

    def reference(self, depth):
        i = self.rng.randrange(self.here, self.defs)
        pointer = ("#/$defs/d" if self.since_2019 else "#/definitions/d") + str(i)
        schema = {"$ref": f"#n{i}" if i in self.anchored and self.chance(0.7) else pointer}
        if self.chance(0.2):
            extra = self.schema(depth - 1)
            if isinstance(extra, dict):
                schema.update(extra)
        return schema

    def values(self, focus):
        rng = self.rng
        pool = {
            "string": STRINGS[:30], "integer": NUMBERS[:12], "number": NUMBERS, "boolean": [True, False],
            "array": [[], [1], [1, 2], ["a"], [True], [[]]], "object": [{}, {"a": 1}, {"a": "b", "b": 2}, {"x1": None}],
        }.get(focus, [None, True, False, 0, 1, "a", "ab", [], [1], {}, {"a": 1}, Decimal("1.5")])  # fmt: skip
        if self.chance(0.3) and not self.draft4:
            return {"const": rng.choice(pool)}
        picked = []
        for _ in range(rng.randint(1, 4)):
            value = rng.choice(pool)
            if not any(type(value) is type(other) and value == other for other in picked):
                picked.append(value)
        if len(picked) > 1 and any(p == q for i, p in enumerate(picked) for q in picked[:i]):
            picked = picked[:1]  # 1 and 1.0, 0 and false: kept apart only by some
        return {"enum": picked}

    def string(self, schema, depth):
        rng = self.rng
        if self.dense(0.35):
            schema["pattern"] = rng.choice(PATTERNS)
        if self.dense(0.3):
            schema["minLength"] = rng.randint(0, 3)
        if self.dense(0.35):
            schema["maxLength"] = rng.randint(0, 6)
        if self.dense(0.12):
            names = LAX_FORMATS if self.chance(0.15) else list(FORMATS) + ["unknown"]
            schema["format"] = rng.choice(names)

    def number(self, schema, depth):
        rng = self.rng
        low, high = rng.choice(NUMBERS[:15]), rng.choice(NUMBERS)
        if self.dense(0.4):
            schema["minimum"] = low
            if self.draft4 and self.chance(0.3):
                schema["exclusiveMinimum"] = self.chance(0.7)
        if self.dense(0.4):
            schema["maximum"] = high
            if self.draft4 and self.chance(0.3):
                schema["exclusiveMaximum"] = self.chance(0.7)
        if not self.draft4 and self.dense(0.12):
            schema["exclusiveMinimum"] = low
        if not self.draft4 and self.dense(0.12):
            schema["exclusiveMaximum"] = high
        if self.dense(0.25):
            schema["multipleOf"] = rng.choice([1, 2, 3, 5, 7, Decimal("0.5"), Decimal("0.1"), Decimal("2.5"), 10])

    def array(self, schema, depth):
        rng = self.rng
        if self.dense(0.3):
            prefix = [self.step(depth - 1) for _ in range(rng.randint(1, 3))]
            schema["prefixItems" if self.new else "items"] = prefix
            if self.dense(0.5):
                rest = self.step(depth - 1) if self.chance(0.6) else False
                schema["items" if self.new else "additionalItems"] = rest
        elif self.dense(0.6):
            schema["items"] = self.step(depth - 1)
        if self.dense(0.25):
            schema["minItems"] = rng.randint(0, 3)
        if self.dense(0.35):
            schema["maxItems"] = rng.randint(0, 4)
        if self.dense(0.15):
            schema["uniqueItems"] = self.chance(0.9)
        if self.dense(0.15) and not self.draft4:
            schema["contains"] = self.step(depth - 1)
            if self.since_2019 and self.chance(0.4):
                schema["minContains"] = rng.randint(0, 2)
            if self.since_2019 and self.chance(0.3):
                schema["maxContains"] = rng.randint(1, 3)

    def object(self, schema, depth):
        rng = self.rng
        if self.dense(0.7):
            names = rng.sample(NAMES, rng.randint(1, 3))
            schema["properties"] = {name: self.step(depth - 1) for name in names}
        if self.dense(0.4):
            schema["required"] = rng.sample(NAMES[:5], rng.randint(1, 2))
        if self.dense(0.45):
            schema["additionalProperties"] = self.step(depth - 1) if self.chance(0.5) else False
        if self.dense(0.2):
            names = rng.sample(KEY_PATTERNS, rng.randint(1, 2))
            schema["patternProperties"] = {name: self.step(depth - 1) for name in names}
        if self.dense(0.1) and not self.draft4:
            schema["propertyNames"] = self.schema(0, "string")
        if self.dense(0.12):
            schema["minProperties"] = rng.randint(0, 3)
        if self.dense(0.15):
            schema["maxProperties"] = rng.randint(0, 3)
        if self.dense(0.1):
            needs = {rng.choice(NAMES[:4]): rng.sample(NAMES[:4], rng.randint(1, 2))}
            if self.since_2019:
                schema["dependentRequired"] = needs
            else:
                schema["dependencies"] = needs
        if self.dense(0.08):
            word = "dependentSchemas" if self.since_2019 else "dependencies"
            schema[word] = {rng.choice(NAMES[:3]): self.schema(depth - 1, "object")}

    def combine(self, schema, depth, focus):
        rng = self.rng
        focus = focus if self.chance(0.7) and focus != "any" else None
        word = rng.choice(["allOf", "anyOf", "oneOf", "not", "if", "anyOf", "oneOf"])
        if word == "not":
            schema["not"] = self.schema(depth - 1, focus)
        elif word == "if":
            schema["if"] = self.schema(depth - 1, focus)
            if self.chance(0.8):
                schema["then"] = self.schema(depth - 1, focus)
            if self.chance(0.6):
                schema["else"] = self.schema(depth - 1, focus)
        else:
            schema[word] = [self.schema(depth - 1, focus) for _ in range(rng.randint(1, 3))]


class Values:
    """Random values that try to meet a schema, and often just fail."""

    def __init__(self, rng, root):
        self.rng = rng
        self.root = root

    def resolve(self, ref):
        node = self.root
        if ref.startswith("#n") and ref[2:].isdigit():
            ref = "#/$defs/d" + ref[2:]
        if not ref.startswith("#"):
            return {}
        for part in ref.lstrip("#").split("/")[1:]:
            part = part.replace("~1", "/").replace("~0", "~")
            if isinstance(node, list):
                node = node[int(part)] if part.isdigit() and int(part) < len(node) else {}
            else:
                node = node.get(part, {}) if isinstance(node, dict) else {}
        return node

    def hints(self, schema, out, fuel=12):
        """The schemas that speak of the same value: parts of allOf, a branch of anyOf, what $ref names."""
        if not isinstance(schema, dict) or len(out) > fuel:
            return out
        rng = self.rng
        out.append(schema)
        for word in ("allOf",):
            for sub in schema.get(word, []):
                self.hints(sub, out, fuel)
        for word in ("anyOf", "oneOf"):
            if schema.get(word):
                self.hints(rng.choice(schema[word]), out, fuel)
        for word in ("if", "then", "else", "not"):
            if word in schema and rng.random() < (0.2 if word == "not" else 0.6):
                self.hints(schema[word], out, fuel)
        for word in ("dependentSchemas", "dependencies"):
            for sub in schema.get(word, {}).values():
                if rng.random() < 0.5:
                    self.hints(sub, out, fuel)
        for word in ("$ref", "$dynamicRef", "$recursiveRef"):
            if isinstance(schema.get(word), str):
                self.hints(self.resolve(schema[word]), out, fuel)
        return out

    def generic(self, depth):
        rng = self.rng
        kind = rng.choice(["s", "n", "b", "0", "a", "o"] if depth > 0 else ["s", "n", "b", "0"])
        if kind == "s":
            return rng.choice(STRINGS)
        if kind == "n":
            return rng.choice(NUMBERS)
        if kind == "b":
            return rng.random() < 0.5
        if kind == "0":
            return None
        if kind == "a":
            return [self.generic(depth - 1) for _ in range(rng.randint(0, 2))]
        return {rng.choice(NAMES): self.generic(depth - 1) for _ in range(rng.randint(0, 2))}

    def value(self, schema, depth=4):
        rng = self.rng
        hints = self.hints(schema, [])
        if not hints or rng.random() < 0.04:
            return self.generic(min(depth, 2))
        fixed = [v for h in hints for v in h.get("enum", []) + ([h["const"]] if "const" in h else [])]
        if fixed and rng.random() < 0.85:
            return rng.choice(fixed)
        types = []
        for h in hints:
            listed = h.get("type", [])
            types += [listed] if isinstance(listed, str) else listed
        if not types or rng.random() < 0.08:
            words = {w for h in hints for w in h}
            if words & {"properties", "required", "patternProperties", "additionalProperties", "minProperties",
                        "maxProperties", "propertyNames", "dependentRequired", "dependentSchemas", "unevaluatedProperties"}:  # fmt: skip
                types.append("object")
            if words & {"items", "prefixItems", "contains", "minItems", "maxItems", "uniqueItems"}:
                types.append("array")
            if words & {"pattern", "minLength", "maxLength", "format"}:
                types.append("string")
            if words & {"minimum", "maximum", "multipleOf", "exclusiveMinimum", "exclusiveMaximum"}:
                types.append("number")
            if not types:
                return self.generic(min(depth, 2))
        kind = rng.choice(types)
        if kind == "string":
            return rng.choice(FORMAT_STRINGS if any("format" in h for h in hints) and rng.random() < 0.8 else STRINGS)
        if kind in ("number", "integer"):
            return self.number(hints, kind)
        if kind == "array":
            return self.array(hints, depth)
        if kind == "object":
            return self.object(hints, depth)
        return {"boolean": rng.random() < 0.5, "null": None}.get(kind)

    def number(self, hints, kind):
        rng = self.rng
        near = [
            h[w] for h in hints for w in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
            if isinstance(h.get(w), (int, Decimal)) and not isinstance(h[w], bool)
        ]  # fmt: skip
        if near and rng.random() < 0.7:
            base = rng.choice(near)
            step = rng.choice([0, 0, 1, -1, 2, base, -2 * base] + ([Decimal("0.5"), Decimal("-0.1")] if kind == "number" else []))
            return base + step
        return rng.choice(NUMBERS)

    def array(self, hints, depth):
        rng = self.rng
        counts = [h[w] + d for h in hints for w in ("minItems", "maxItems", "minContains") if w in h for d in (0, 0, 1, -1)]
        size = rng.choice(counts) if counts and rng.random() < 0.7 else rng.randint(0, 3)
        out = []
        for i in range(max(0, min(size, 6)) if depth > 0 else 0):
            subs = []
            for h in hints:
                prefix = h.get("prefixItems", h.get("items") if isinstance(h.get("items"), list) else [])
                if i < len(prefix):
                    subs.append(prefix[i])
                elif isinstance(h.get("items"), dict):
                    subs.append(h["items"])
                elif "additionalItems" in h:
                    subs.append(h["additionalItems"])
                for w in ("contains", "unevaluatedItems"):
                    if w in h:
                        subs.append(h[w])
            out.append(self.value(rng.choice(subs), depth - 1) if subs else self.generic(1))
        return out

    def object(self, hints, depth):
        rng = self.rng
        declared = {}
        for h in hints:
            for name, sub in h.get("properties", {}).items():
                declared.setdefault(name, []).append(sub)
        names = [n for h in hints if isinstance(h.get("required"), list) for n in h["required"] if rng.random() < 0.95]
        for h in hints:
            for needs in [h.get("dependentRequired", {}), h.get("dependencies", {})]:
                for name, others in needs.items():
                    if isinstance(others, list) and rng.random() < 0.5:
                        names += [name] + [n for n in others if rng.random() < 0.85]
        names += [n for n in declared if rng.random() < (0.5 if depth > 1 else 0.25)]
        if rng.random() < 0.3:
            names.append(rng.choice(NAMES + STRINGS))
        out = {}
        for name in names:
            subs = list(declared.get(name, []))
            for h in hints:
                for w in ("additionalProperties", "unevaluatedProperties"):
                    if w in h and not subs:
                        subs.append(h[w])
                if rng.random() < 0.5:
                    subs += list(h.get("patternProperties", {}).values())
            if name not in out:
                out[name] = self.value(rng.choice(subs), depth - 1) if subs and depth > 0 else self.generic(min(depth, 1))
        return out


def mutate_value(value, rng):
    """The value with one small change somewhere."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(list(value))
        kind = rng.random()
        if kind < 0.25:
            return {k: v for k, v in value.items() if k != key}
        if kind < 0.4:
            return {**value, rng.choice(NAMES): rng.choice([0, "a", None, value[key]])}
        return {k: mutate_value(v, rng) if k == key else v for k, v in value.items()}
    if isinstance(value, list) and value and rng.random() < 0.85:
        i = rng.randrange(len(value))
        kind = rng.random()
        if kind < 0.25:
            return value[:i] + value[i + 1 :]
        if kind < 0.5:
            return value[: i + 1] + value[i:]
        return value[:i] + [mutate_value(value[i], rng)] + value[i + 1 :]
    if isinstance(value, bool) or value is None:
        return rng.choice([True, False, None, 0, 1])
    if isinstance(value, (int, Decimal)):
        return rng.choice([value + 1, value - 1, -value, value * 10, value + Decimal("0.5"), value * 2])
    if isinstance(value, str) and value:
        i = rng.randrange(len(value))
        return rng.choice([value[:i] + value[i + 1 :], value + value[i], value[:i] + rng.choice("abz09- ") + value[i + 1 :]])
    return rng.choice([{}, [], "", 0, {"a": 1}, [1]])


def mutate_schema(schema, rng, draft):
    """The schema with a change at one place in it."""
    places = []

    def walk(node, at_schema):
        if isinstance(node, dict):
            if at_schema:
                places.append(node)
            for key, sub in node.items():
                if key in ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "schemas"):
                    for item in sub.values():
                        walk(item, True)
                elif key in ("allOf", "anyOf", "oneOf", "prefixItems"):
                    for item in sub:
                        walk(item, True)
                elif key in ("items", "additionalProperties", "not", "if", "then", "else", "contains", "components"):
                    walk(sub, key != "components")

    walk(schema, True)
    node = rng.choice(places)
    makers = [draft.string, draft.number, draft.array, draft.object]
    kind = rng.random()
    if kind < 0.35 and node:
        node.pop(rng.choice([k for k in node if k not in ("$schema", "$defs", "definitions", "components")] or ["none"]), None)
    elif kind < 0.75:
        extra = {}
        declared = node.get("type")
        if declared == "object" or "properties" in node:
            makers = [draft.object]
        elif declared in ("string", "array"):
            makers = [getattr(draft, declared)]
        elif declared in ("number", "integer"):
            makers = [draft.number]
        rng.choice(makers)(extra, 1)
        for key, value in list(extra.items())[:2]:
            if key != "items" or "prefixItems" in node or "items" not in node:
                node[key] = value
    else:
        draft.combine(node, 1, node.get("type") if isinstance(node.get("type"), str) else None)
    return schema
