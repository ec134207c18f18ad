"""The jsonschema package as a judge of JSON texts, with the differences that are its own put right.

Numbers are exact (int and Decimal), patterns are read as ECMA-262 reads them, uniqueItems compares every
pair, what unevaluated* leave is computed from the standard's annotations, and the formats of draft 2020-12 are
checked under every draft.
"""

import decimal
import json
import re
from decimal import Decimal

import jsonschema
from jsonschema import _utils, validators
from referencing.exceptions import Unresolvable
from referencing.jsonschema import lookup_recursive_ref

decimal.getcontext().prec = 2000
MAX_EXPONENT = 500
DRAFTS = {
    "http://json-schema.org/draft-04/schema#": jsonschema.Draft4Validator,
    "http://json-schema.org/draft-06/schema#": jsonschema.Draft6Validator,
    "http://json-schema.org/draft-07/schema#": jsonschema.Draft7Validator,
    "https://json-schema.org/draft/2019-09/schema": jsonschema.Draft201909Validator,
    "https://json-schema.org/draft/2020-12/schema": jsonschema.Draft202012Validator,
}
FORMATS = jsonschema.Draft202012Validator.FORMAT_CHECKER


class Unjudgeable(Exception):
    """A text whose verdict would say nothing."""


def is_integer(checker, instance):
    if isinstance(instance, bool):
        return False
    return isinstance(instance, int) or (
        isinstance(instance, Decimal) and instance == instance.to_integral_value()
    )


def unique_items(validator, unique, instance, schema):
    if unique and validator.is_type(instance, "array"):
        for i, one in enumerate(instance):
            if any(_utils.equal(one, other) for other in instance[:i]):
                yield jsonschema.ValidationError(f"{instance!r} has equal elements")


def _evaluated(validator, instance, schema, own):
    """The keys or positions that a schema, which the instance meets, evaluates. own: those of the keywords
    of one schema object that speak of parts of the value."""
    if not isinstance(schema, dict):
        return set()
    out = own(validator, instance, schema)

    def add(sub, **scope):
        inner = validator.evolve(schema=sub, **scope)
        if inner.is_valid(instance):
            out.update(_evaluated(inner, instance, sub, own))
            return True
        return False

    for word in ("$ref", "$dynamicRef"):
        if word in schema:
            found = validator._resolver.lookup(schema[word])
            add(found.contents, _resolver=found.resolver)
    if "$recursiveRef" in schema:
        found = lookup_recursive_ref(validator._resolver)
        add(found.contents, _resolver=found.resolver)
    for word in ("allOf", "anyOf", "oneOf"):
        for sub in schema.get(word, []):
            add(sub)
    if "if" in schema:
        branch = "then" if add(schema["if"]) else "else"
        if branch in schema:
            add(schema[branch])
    if isinstance(instance, dict):
        for name, sub in schema.get("dependentSchemas", {}).items():
            if name in instance:
                add(sub)
    return out


def _own_keys(validator, instance, schema):
    if "additionalProperties" in schema or "unevaluatedProperties" in schema:
        return set(instance)
    patterns = [re.compile(pattern) for pattern in schema.get("patternProperties", {})]
    named = schema.get("properties", {})
    return {key for key in instance if key in named or any(p.search(key) for p in patterns)}


def _own_positions(validator, instance, schema):
    every = set(range(len(instance)))
    items = schema.get("items")
    if isinstance(items, list):  # 2019-09
        prefix = len(items)
        if "additionalItems" in schema:
            return every
    else:
        prefix = len(schema.get("prefixItems", []))
        if items is not None:
            return every
    if "unevaluatedItems" in schema:
        return every
    out = {i for i in every if i < prefix}
    if "contains" in schema and "2019-09" not in validator.META_SCHEMA["$id"]:
        inner = validator.evolve(schema=schema["contains"])
        out |= {i for i in every if inner.is_valid(instance[i])}
    return out


def unevaluated_properties(validator, unevaluated, instance, schema):
    if validator.is_type(instance, "object"):
        others = {key: value for key, value in schema.items() if key != "unevaluatedProperties"}
        left = set(instance) - _evaluated(validator, instance, others, _own_keys)
        for key in left:
            yield from validator.descend(instance[key], unevaluated, path=key)


def unevaluated_items(validator, unevaluated, instance, schema):
    if validator.is_type(instance, "array"):
        others = {key: value for key, value in schema.items() if key != "unevaluatedItems"}
        left = set(range(len(instance))) - _evaluated(validator, instance, others, _own_positions)
        for i in left:
            yield from validator.descend(instance[i], unevaluated, path=i)


def _extended(cls):
    checker = cls.TYPE_CHECKER
    if cls is not jsonschema.Draft4Validator:
        checker = checker.redefine("integer", is_integer)
    own = {
        "uniqueItems": unique_items,
        "unevaluatedProperties": unevaluated_properties,
        "unevaluatedItems": unevaluated_items,
    }
    known = {word: check for word, check in own.items() if word in cls.VALIDATORS}
    return validators.extend(cls, known, type_checker=checker)


JUDGES = {uri: _extended(cls) for uri, cls in DRAFTS.items()}


def python_pattern(pattern):
    """An ECMA-262 pattern, of those that tests use, in Python's dialect."""
    out, i, in_class = [], 0, False
    while i < len(pattern):
        c = pattern[i]
        if c == "\\":
            out.append(pattern[i : i + 2])
            i += 2
            continue
        if c == "[":
            in_class = True
        elif c == "]":
            in_class = False
        elif c == "$" and not in_class:
            c = r"\Z"
        elif c == "." and not in_class:
            c = "[^\n\r\u2028\u2029]"
        out.append(c)
        i += 1
    return "(?a:" + "".join(out) + ")"


def python_schema(schema):
    """The schema with its patterns in Python's dialect; what enum and const hold stays as it is."""
    if isinstance(schema, list):
        return [python_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    out = {}
    for key, value in schema.items():
        if key in ("enum", "const", "default", "examples", "required"):
            out[key] = value
        elif key == "pattern" and isinstance(value, str):
            out[key] = python_pattern(value)
        elif key == "patternProperties":
            out[key] = {python_pattern(name): python_schema(sub) for name, sub in value.items()}
        else:
            out[key] = python_schema(value)
    return out


def _decimal(text):
    exponent = re.search(r"[eE][-+]?0*([0-9]*)$", text)
    if exponent and (len(exponent[1]) > 3 or int(exponent[1] or "0") > MAX_EXPONENT):
        raise Unjudgeable(text)
    return Decimal(text)


def parse(text):
    """A JSON text as a value with exact numbers. Raises Unjudgeable for numbers out of all proportion."""
    return json.loads(text, parse_float=_decimal)


def has_repeated_key(text):
    found = []

    def pairs(items):
        if len({key for key, _ in items}) < len(items):
            found.append(True)
        return dict(items)

    json.loads(text, object_pairs_hook=pairs, parse_float=str, parse_int=str)
    return bool(found)


def spell(value, rng, fractions):
    """JSON text of a value in some spelling: escapes here and there, and zeros after whole numbers."""
    if isinstance(value, dict):
        return "{" + ", ".join(
            spell(k, rng, fractions) + ": " + spell(v, rng, fractions) for k, v in value.items()
        ) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(spell(item, rng, fractions) for item in value) + "]"
    if isinstance(value, str):
        return '"' + "".join(
            json.dumps(c)[1:-1] if rng.random() > 0.1 else _escape(c, rng) for c in value
        ) + '"'
    text = dump(value)
    if fractions and isinstance(value, int) and not isinstance(value, bool) and rng.random() < 0.2:
        return text + rng.choice([".0", ".00"])
    return text + rng.choice(["", "0"]) if isinstance(value, Decimal) and "." in text else text


def _escape(c, rng):
    units = c.encode("utf-16-be")
    form = rng.choice(["\\u%04x", "\\u%04X"])
    return "".join(form % int.from_bytes(units[i : i + 2], "big") for i in range(0, len(units), 2))


def dump(value, ascii_only=False):
    """JSON text of a value whose numbers are int and Decimal, these in plain notation."""
    if isinstance(value, dict):
        return "{" + ", ".join(
            json.dumps(k, ensure_ascii=ascii_only) + ": " + dump(v, ascii_only) for k, v in value.items()
        ) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(dump(item, ascii_only) for item in value) + "]"
    if isinstance(value, Decimal):
        return format(value, "f")
    return json.dumps(value, ensure_ascii=ascii_only)


def _has_whole_fraction(value):
    if isinstance(value, (dict, list)):
        return any(map(_has_whole_fraction, value.values() if isinstance(value, dict) else value))
    return isinstance(value, Decimal) and value == value.to_integral_value()


class Judge:
    """is_valid(value) for one schema, given as JSON text."""

    def __init__(self, schema_text):
        schema = python_schema(json.loads(schema_text, parse_float=Decimal))
        uri = schema.get("$schema") if isinstance(schema, dict) else None
        cls = JUDGES.get(uri, JUDGES["https://json-schema.org/draft/2020-12/schema"])
        cls.check_schema(schema)
        if isinstance(schema, dict):
            # Else a reference to the root would be judged by the package's own class.
            schema.pop("$schema", None)
        self.validator = cls(schema, format_checker=FORMATS)
        self.draft4 = "draft-04" in (uri or "")

    def is_valid(self, value):
        if self.draft4 and _has_whole_fraction(value):
            raise Unjudgeable("3.0 under draft 4")  # a number, but no integer: engines may spell it as 3 only
        try:
            return self.validator.is_valid(value)
        except (RecursionError, Unresolvable, decimal.DecimalException) as error:
            raise Unjudgeable(repr(error)) from None
