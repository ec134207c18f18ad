"""JSON Schemas against the jsonschema package, both ways.

Documents sampled from the compiled grammar must be valid; documents made from them by small changes must be
accepted exactly when they are valid (with a format: only when they are valid). Format checks are on for the
formats that jsonschema can check alone.
"""
import json
import random

import pytest

import grammask as gm

jsonschema = pytest.importorskip("jsonschema")

SCHEMAS = [
    {"type": "integer", "minimum": -7, "exclusiveMaximum": 120},
    {"type": "number", "minimum": 0.25, "maximum": 3.5},
    {"type": "number", "multipleOf": 0.25, "minimum": -2, "maximum": 2},
    {"type": "integer", "multipleOf": 7, "minimum": 10, "maximum": 1000},
    {"type": ["string", "null", "boolean"], "maxLength": 6},
    {"type": "string", "pattern": "^[a-c]+(-[0-9]{2})?$", "minLength": 3, "maxLength": 8},
    {"type": "string", "pattern": "(?=.*[0-9])(?=.*[xyz])^[a-z0-9]{2,6}$"},
    {"type": "string", "format": "date"},
    {"type": "string", "format": "ipv4"},
    {"type": "string", "format": "uuid"},
    {"enum": ["a", 1, None, True, [1, 2], {"k": "v"}, 2.5]},
    {"const": {"a": [1, {"b": "c\"d\\e"}]}},
    {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 9}, "minItems": 2, "maxItems": 4},
    {"type": "array", "prefixItems": [{"type": "string", "maxLength": 2}, {"type": "boolean"}], "items": {"type": "null"}},
    {"type": "array", "prefixItems": [{"const": 1}, {"const": 2}], "items": False},
    {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string", "maxLength": 3}}, "required": ["a"]},
    {"type": "object", "properties": {"a": {"type": "boolean"}}, "additionalProperties": {"type": "integer"}, "maxProperties": 3},
    {"type": "object", "properties": {"a": True, "b": True, "c": True}, "additionalProperties": False, "minProperties": 2},
    {"type": "object", "patternProperties": {"^x": {"type": "integer"}, "y$": {"minimum": 5}}, "additionalProperties": False, "maxProperties": 2},
    {"type": "object", "propertyNames": {"pattern": "^[ab]{1,2}$"}, "additionalProperties": {"type": "null"}, "maxProperties": 2},
    {"allOf": [{"type": "object", "properties": {"a": {"minimum": 3}}}, {"properties": {"a": {"type": "integer", "maximum": 9}}, "required": ["a"]}],
     "additionalProperties": False, "properties": {"a": True}},
    {"anyOf": [{"type": "integer", "minimum": 100}, {"type": "string", "minLength": 2, "maxLength": 3}, {"const": False}]},
    {"oneOf": [{"type": "object", "properties": {"k": {"const": "i"}, "v": {"type": "integer"}}, "required": ["k", "v"], "additionalProperties": False},
               {"type": "object", "properties": {"k": {"const": "s"}, "v": {"type": "string", "maxLength": 2}}, "required": ["k", "v"], "additionalProperties": False}]},
    {"$ref": "#/$defs/tree", "$defs": {"tree": {"type": "object", "properties": {
        "v": {"type": "integer", "minimum": 0, "maximum": 3}, "kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}, "maxItems": 2}},
        "required": ["v"], "additionalProperties": False}}},
    {"$ref": "#/$defs/s", "maxLength": 4, "$defs": {"s": {"type": "string", "minLength": 2}}},
    {"type": "integer", "not": {"enum": [1, 2, 3]}, "minimum": 0, "maximum": 5},
]
SAMPLES = 40
STEADY = 60  # bytes after which a sample is steered to its end

BYTES = [bytes([b]) for b in range(256)] + [b"</s>"]
VALIDATOR = jsonschema.Draft202012Validator


@pytest.fixture(scope="module")
def compiler():
    return gm.GrammarCompiler(gm.TokenizerInfo(BYTES, stop_token_ids=[256]))


def sample(compiled, rng):
    """One document, drawn byte by byte; printable ASCII is preferred, so that values are of interest."""
    matcher = gm.GrammarMatcher(compiled)
    mask = gm.allocate_token_bitmask(1, 257)
    out = bytearray()
    while True:
        matcher.fill_next_token_bitmask(mask)
        words = mask[0].tolist()
        allowed = [t for t in range(257) if words[t >> 5] >> (t & 31) & 1]
        assert allowed, bytes(out)
        if 256 in allowed and (len(out) > STEADY or rng.random() < 0.4):
            return out.decode("utf-8")
        allowed = [t for t in allowed if t != 256]
        if not allowed:
            return out.decode("utf-8")
        if len(out) > STEADY:
            token = min(allowed, key=matcher.shortest_completion_after)
        else:
            plain = [t for t in allowed if 0x20 < t < 0x7F and t != 0x5C]
            token = rng.choice(plain if plain and rng.random() < 0.95 else allowed)
        assert matcher.accept_token(token)
        out.append(token)


def mutate(value, rng):
    """The value with one small change somewhere; the order of keys is kept."""
    if isinstance(value, dict) and value and rng.random() < 0.8:
        key = rng.choice(list(value))
        if rng.random() < 0.3:
            return {k: v for k, v in value.items() if k != key}
        return {k: mutate(v, rng) if k == key else v for k, v in value.items()}
    if isinstance(value, list) and value and rng.random() < 0.8:
        i = rng.randrange(len(value))
        kind = rng.random()
        if kind < 0.3:
            return value[:i] + value[i + 1:]
        if kind < 0.5:
            return value[:i] + [value[i]] + value[i:]
        return value[:i] + [mutate(value[i], rng)] + value[i + 1:]
    if isinstance(value, bool) or value is None:
        return rng.choice([True, False, None, 0])
    if isinstance(value, int):
        return value + rng.choice([-1, 1, 2, 7, 100])
    if isinstance(value, float):
        return rng.choice([round(value) if abs(value) < 1e9 else 0, value + 0.25, value - 0.5])
    if isinstance(value, str) and value:
        i = rng.randrange(len(value))
        return rng.choice([value[:i] + value[i + 1:], value + value[i], value[:i] + rng.choice("abz09-") + value[i + 1:]])
    return rng.choice([{}, [], "", 0])


def accepts(compiled, text):
    matcher = gm.GrammarMatcher(compiled)
    return matcher.accept_string(text) and matcher.is_completed()


def plainly_written(value):
    """No number that Python writes with an exponent: those spellings are accepted only in part."""
    text = json.dumps(value)
    return not any(c in text for c in ("e+", "e-", "Infinity", "NaN"))


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda s: json.dumps(s)[:60])
def test_agrees_with_jsonschema(compiler, schema):
    rng = random.Random(json.dumps(schema))
    compiled = compiler.compile_json_schema(schema, strict_mode=False)
    validator = VALIDATOR(schema, format_checker=VALIDATOR.FORMAT_CHECKER)
    changed = 0
    for _ in range(SAMPLES):
        text = sample(compiled, rng)
        value = json.loads(text)
        if not plainly_written(value):
            continue  # Python reads 1E400 as infinity
        assert validator.is_valid(value), text
        for _ in range(8):
            other = mutate(value, rng)
            if not plainly_written(other):
                continue
            document = json.dumps(other, ensure_ascii=rng.random() < 0.5)
            if "format" in schema:  # checkers of formats are laxer here and there
                assert not accepts(compiled, document) or validator.is_valid(other), document
            else:
                assert accepts(compiled, document) == validator.is_valid(other), document
            changed += 1
    assert changed > SAMPLES
