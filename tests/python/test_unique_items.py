"""uniqueItems on walks that like to repeat themselves: the mask is exact, no walk ends in a dead end,
and what comes out has no two equal elements."""

import json
import random

import pytest

import grammask
from conftest import allowed_ids

PIECES = [
    '","', '"},{"', "},{", '":', '"]', "],[", "[1", "1,1", "1,", '{"k":', '{"k":"a"}', "{},", "{}",
    '{"k":"a"},{"k":"b"}', '"a"', '"a","a"', 'a","a"', "[],[]", "},", '{"a":1}', "true", "false",
    "null", '{"', '": ', 'a"', "aa", "ab", '"k":"a","v":', "1}", ',{"v":1,"k":"a"}', "\\u0061",
]  # fmt: skip
TOKENS = [bytes([b]) for b in range(256)] + [p.encode() for p in PIECES] + [b"</s>"]
STOP = len(TOKENS) - 1


def closed(**properties):
    return {
        "type": "object",
        "properties": properties,
        "required": ["k"] if "k" in properties else [],
        "additionalProperties": False,
    }


ITEMS = {
    "anything": {},
    "scalars": {"type": ["string", "number", "null", "boolean"]},
    "few values": {"enum": ["a", "aa", "ab"]},
    "a pattern of two strings": {"type": "string", "pattern": "^[ab]$"},
    "closed objects": closed(k={"enum": ["a", "b"]}, v={"type": "integer"}),
    "four objects": closed(k={"enum": ["a", "b"]}, v={"type": "boolean"}),
    "objects with a pattern": closed(k={"type": "string", "pattern": "^[ab]+$", "maxLength": 9}, v={"type": "integer"}),
    "objects told apart by a pattern": closed(k={"type": "string", "pattern": "^[ab]{1,2}$"}),
    "objects of a range": closed(k={"type": "integer", "minimum": 1, "maximum": 12}),
    "objects of any names": {
        "type": "object",
        "patternProperties": {"^[kv]+$": {"type": "boolean"}},
        "additionalProperties": False,
        "maxProperties": 1,
    },
    "strings and short arrays": {
        "type": ["string", "array"],
        "items": {"type": "boolean"},
        "maxItems": 1,
    },
    "arrays that are unique themselves": {
        "type": "array",
        "items": {"enum": ["a", "b"]},
        "uniqueItems": True,
    },
    "three lists of one value": {
        "type": "array",
        "items": {"const": "a"},
        "minItems": 2,
        "maxItems": 4,
    },
    "lists of one value": {"type": "array", "items": {"const": "a"}},
    "lists of a billion": {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 10**9},
    "objects of arrays": closed(a={"type": "array", "items": {"enum": [1, 2]}}),
}
SCHEMAS = {
    name: {"type": "array", "uniqueItems": True, "items": items} for name, items in ITEMS.items()
}
SCHEMAS["beside an array that need not be"] = {
    "anyOf": [
        {"type": "array", "uniqueItems": True, "items": {"type": "object"}},
        {"type": "array", "maxItems": 2, "items": {"type": "object"}},
    ]
}
# Elements that must be there besides: what is added to a schema of ITEMS, and what then holds of elements.
ASKED = {
    "an integer among anything": (
        "anything",
        {"contains": {"type": "integer"}},
        lambda v: any(type(x) in (int, float) and x == int(x) for x in v),
    ),
    "one of few values": (
        "few values",
        {"contains": {"const": "aa"}, "maxItems": 2},
        lambda v: "aa" in v and len(v) <= 2,
    ),
    "two of few values": (
        "few values",
        {"contains": {"pattern": "^a"}, "minContains": 3},
        lambda v: len(v) == 3,
    ),
    "both strings of a pattern": (
        "a pattern of two strings",
        {"contains": {"const": "b"}, "minItems": 2},
        lambda v: sorted(v) == ["a", "b"],
    ),
    "two kinds": (
        "scalars",
        {"allOf": [{"contains": {"type": "null"}}, {"contains": {"type": ["boolean", "null"]}}], "maxItems": 3},
        lambda v: None in v and len(v) <= 3,
    ),
    "two objects of many": (
        "closed objects",
        {"contains": {"properties": {"k": {"const": "b"}}}, "minContains": 2, "maxItems": 3},
        lambda v: sum(x.get("k") == "b" for x in v) >= 2 and len(v) <= 3,
    ),
    "all six objects": (
        "four objects",
        {"contains": {"required": ["v"]}, "minItems": 6},
        lambda v: len(v) == 6,
    ),
    "anything after a string and a number": (
        "anything",
        {"prefixItems": [{"type": "string"}, {"type": "number"}], "minItems": 2},
        lambda v: isinstance(v[0], str) and type(v[1]) in (int, float),
    ),
    "scalars after two booleans": (
        "scalars",
        {"prefixItems": [{"type": "boolean"}, {"type": "boolean"}]},
        lambda v: all(isinstance(x, bool) for x in v[:2]),
    ),
    "few values after one of them that may be a number": (
        "few values",
        {"prefixItems": [{"enum": ["aa", 1, 1.5]}, {"type": ["string", "null"]}]},
        lambda v: v[:1] in ([], ["aa"], [1], [1.5]) and set(v[2:]) <= {"a", "aa", "ab"},
    ),
    "objects and arrays after another one": (
        "objects of any names",
        {"prefixItems": [{"type": ["object", "array"]}, {"items": {"type": "null"}}], "maxItems": 3},
        lambda v: isinstance(v[0] if v else {}, (dict, list)) and len(v) <= 3,
    ),
}
SCHEMAS |= {name: SCHEMAS[items] | more for name, (items, more, _) in ASKED.items()}


@pytest.fixture(scope="module")
def compiler():
    return grammask.GrammarCompiler(grammask.TokenizerInfo(TOKENS, stop_token_ids=[STOP]))


def canonical(value):
    if isinstance(value, bool) or value is None:
        return ("literal", value)
    if isinstance(value, (int, float)):
        return ("number", float(value))
    if isinstance(value, str):
        return ("string", value)
    if isinstance(value, list):
        return ("array", tuple(canonical(v) for v in value))
    return ("object", tuple(sorted((k, canonical(v)) for k, v in value.items())))


def repeats_a_key(text):
    class Repeated(Exception):
        pass

    def check(pairs):
        if len({k for k, _ in pairs}) < len(pairs):
            raise Repeated
        return dict(pairs)

    try:
        json.loads(text, object_pairs_hook=check)
    except Repeated:
        return True
    return False


def choose(rnd, text, allowed):
    """Half of the time a token that goes on as an earlier place of the text did."""
    if rnd.random() < 0.5:
        for length in range(min(12, len(text)), 0, -1):
            at = text.find(text[-length:], 0, len(text) - 1)
            if at < 0 or at + length >= len(text):
                continue
            after = text[at + length : at + length + rnd.randint(1, 6)]
            same = [t for t in allowed if t != STOP and after.startswith(TOKENS[t])]
            if same:
                return rnd.choice(same)
            break
    if STOP in allowed and rnd.random() < 0.3:
        return STOP
    likely = [t for t in allowed if t >= 256 or TOKENS[t] in b'ab"[]{}:,1kvt0']
    return rnd.choice(likely or allowed)


@pytest.mark.parametrize("any_order", [False, True])
@pytest.mark.parametrize("name", SCHEMAS)
def test_walks(compiler, name, any_order):
    rnd = random.Random(f"{name} {any_order}")
    compiled = compiler.compile_json_schema(
        SCHEMAS[name], strict_mode=False, any_order=any_order, max_whitespace_cnt=1
    )
    documents = 0
    for walk in range(25):
        matcher = grammask.GrammarMatcher(compiled)
        text = b""
        for step in range(60):
            allowed = sorted(allowed_ids(matcher, len(TOKENS)))
            assert allowed, f"dead end after {text!r}"
            if walk % 5 == 0:
                tried = [t for t in range(len(TOKENS)) if matcher.fork().accept_token(t)]
                assert allowed == tried, text
            token = choose(rnd, text, allowed)
            assert matcher.accept_token(token), (text, TOKENS[token])
            if token == STOP:
                break
            text += TOKENS[token]
        else:
            continue
        documents += 1
        # A key that is written twice has no value that all readers agree on.
        if not repeats_a_key(text) and name != "beside an array that need not be":
            elements = [canonical(v) for v in json.loads(text)]
            assert len(set(elements)) == len(elements), text
            assert name not in ASKED or ASKED[name][2](json.loads(text)), text
    assert documents > 0


@pytest.mark.parametrize(
    "valid, text",
    [
        (True, '[{"a":1},{"a":2}]'),
        (False, '[{"a":1},{ "a" : 1.0 }]'),
        (False, '[{"a":1,"b":2},{"b":2,"a":1}]'),
        (False, "[[1],[1e0]]"),
        (True, "[[1],[1,1]]"),
        (True, '[[1,"a"],["a",1]]'),
        (True, '[1,true,"1",null,{},[],0,false,""]'),
        (False, '["a","\\u0061"]'),
        (False, "[1,1.0]"),
        (False, "[0,-0]"),
        (False, '[{"x":[{}]},{"x":[{}]}]'),
        (True, '[{"x":[{}]},{"x":[{},{}]}]'),
    ],
)
def test_equality(valid, text):
    grammar = grammask.Grammar.from_json_schema({"type": "array", "uniqueItems": True})
    matcher = grammask.testing._get_matcher_from_grammar(grammar)
    assert (matcher.accept_string(text) and matcher.is_completed()) == valid


@pytest.mark.parametrize(
    ("items", "count"),
    [
        ("four objects", 6),
        ("objects told apart by a pattern", 6),
        ("objects of a range", 12),
        ("three lists of one value", 3),
    ],
)
def test_elements_run_out(compiler, items, count):
    schema = {"type": "array", "uniqueItems": True, "items": ITEMS[items], "minItems": count}
    compiler.compile_json_schema(schema)
    schema["minItems"] = count + 1
    with pytest.raises(grammask.SchemaError):
        compiler.compile_json_schema(schema)


@pytest.mark.parametrize("name", ASKED)
def test_printed_and_saved_grammars_are_the_same(compiler, name):
    grammar = grammask.Grammar.from_json_schema(SCHEMAS[name], strict_mode=False, max_whitespace_cnt=1)
    direct = compiler.compile_json_schema(SCHEMAS[name], strict_mode=False, max_whitespace_cnt=1)
    printed = compiler.compile_grammar(grammask.Grammar.from_ebnf(str(grammar)))
    saved = grammask.CompiledGrammar.deserialize_json(direct.serialize_json(), direct.tokenizer_info)
    rnd = random.Random(name)
    for _ in range(4):
        matchers = [grammask.GrammarMatcher(c) for c in (direct, printed, saved)]
        text = b""
        for _ in range(30):
            allowed = [sorted(allowed_ids(m, len(TOKENS))) for m in matchers]
            assert allowed[0] == allowed[1] == allowed[2], text
            token = choose(rnd, text, allowed[0])
            assert all(m.accept_token(token) for m in matchers)
            if token == STOP:
                break
            text += TOKENS[token]


def test_asked_elements_run_out(compiler):
    schema = SCHEMAS["four objects"] | {"contains": {"required": ["v"]}, "minContains": 4}
    compiler.compile_json_schema(schema)
    schema["minContains"] = 5
    with pytest.raises(grammask.SchemaError):
        compiler.compile_json_schema(schema)


# How many lists there are is told at once: by adding up lengths it took seconds.
@pytest.mark.parametrize("items", ["lists of one value", "lists of a billion"])
def test_there_are_lists_without_end(compiler, items):
    schema = {"type": "array", "uniqueItems": True, "items": ITEMS[items], "minItems": 10**6}
    compiler.compile_json_schema(schema)


@pytest.mark.parametrize(
    "value", ["number | text | list", "other | list\nother ::= number | text", '[0-9]+ | "[" [0-9]? "]" | "true" | text']
)
def test_rules_of_scalars_and_arrays(compiler, value):
    """A distinct member may be a rule for values of all kinds: each is told apart as it is alone."""
    compiled = compiler.compile_grammar(
        f"""root ::= "[" Members("1.. distinct", ",", "]", value)
value ::= {value}
number ::= [0-9]+
text ::= "\\"" [a-z]* "\\""
list ::= "[" [0-9]? "]"
"""
    )
    refused = 0
    for text in ["[", '["a",', '["a",12,', '["a",12,[1],1', '[[1],"aa",[],', '["a","a', '[1,11,"k",[2],"']:
        matcher = grammask.GrammarMatcher(compiled)
        assert matcher.accept_string(text)
        allowed = set(allowed_ids(matcher, len(TOKENS)))
        for token in range(STOP):
            accepted = matcher.fork().accept_token(token)
            assert (token in allowed) == accepted, (text, TOKENS[token])
            refused += not accepted and TOKENS[token] in (b'"a"', b"[1", b'a"', b'"a","a"')
    assert refused > 5
