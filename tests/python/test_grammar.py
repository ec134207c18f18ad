"""Grammar: front ends and combinators, checked by what texts are accepted."""

import itertools
import json

import pytest

import grammask
from grammask import Grammar
from grammask.testing import _is_grammar_accept_string as accepts


def test_ebnf():
    grammar = Grammar.from_ebnf('start ::= "a" [0-9]{2}', root_rule_name="start")
    assert accepts(grammar, "a12") and not accepts(grammar, "a1") and not accepts(grammar, "a123")
    assert accepts(grammar, "a1", require_termination=False)


def test_printed_grammar_reads_back():
    for grammar in (
        Grammar.from_ebnf('root ::= x ("b" | "c")*\nx ::= [^a-c]? "é"'),
        Grammar.from_regex("[a-c]{2,5}|x+"),
        Grammar.from_json_schema({"type": "object", "properties": {"a": {"type": "integer"}}}),
    ):
        text = str(grammar)
        assert "root ::=" in text
        again = Grammar.from_ebnf(text)
        for sample in ("éb", "zéc", "aé", "ab", "abcabc", "xx", "{}", '{"a": 1}', '{"a": 1.5}'):
            assert accepts(grammar, sample) == accepts(again, sample), sample


def test_schema_forms():
    schema = {
        "type": "object",
        "properties": {"é": {"type": "integer"}},
        "required": ["é"],
    }
    for form in (schema, json.dumps(schema), json.dumps(schema, ensure_ascii=False)):
        grammar = Grammar.from_json_schema(form)
        assert accepts(grammar, '{"é": 1}') and not accepts(grammar, '{"é": "1"}')
    assert accepts(Grammar.from_json_schema(True), "[1]")


def test_pydantic_model():
    pydantic = pytest.importorskip("pydantic")

    class Item(pydantic.BaseModel):
        name: str
        count: int

    grammar = Grammar.from_json_schema(Item)
    assert accepts(grammar, '{"name": "a", "count": 1}')
    assert not accepts(grammar, '{"name": "a"}')


@pytest.mark.parametrize(
    "options, good, bad",
    [
        ({}, '{ "a":\n1 }', None),
        ({"any_whitespace": False}, '{"a": 1}', '{"a":1}'),
        ({"any_whitespace": False, "separators": (",", ":")}, '{"a":1}', '{"a": 1}'),
        ({"any_whitespace": False, "indent": 2}, '{\n  "a": 1\n}', '{"a": 1}'),
        ({"max_whitespace_cnt": 2}, '{  "a":  1}', '{   "a": 1}'),
        ({"strict_mode": False}, '{"a": 1, "b": 2}', None),
        ({"strict_mode": True}, '{"a": 1}', '{"a": 1, "b": 2}'),
    ],
)
def test_schema_options(options, good, bad):
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    grammar = Grammar.from_json_schema(schema, **options)
    assert accepts(grammar, good)
    assert bad is None or not accepts(grammar, bad)


def test_members_in_any_order():
    schema = {
        "type": "object",
        "properties": {key: {"type": "integer"} for key in "abcd"},
        "required": ["a", "c"],
    }
    any_order = Grammar.from_json_schema(schema, any_order=True)
    in_order = Grammar.from_json_schema(schema)
    for count in range(5):
        for keys in itertools.permutations("abcd", count):
            text = json.dumps({key: 1 for key in keys})
            complete = {"a", "c"} <= set(keys)
            assert accepts(any_order, text) == complete, text
            assert accepts(in_order, text) == (complete and list(keys) == sorted(keys)), text
    assert not accepts(any_order, '{"a": 1, "c": 1, "a": 1}')
    assert not accepts(any_order, '{"a": 1, "c": 1, "\\u0061": 1}')
    again = Grammar.from_ebnf(str(any_order))
    assert accepts(again, '{"d": 1, "c": 1, "a": 1}') and not accepts(again, '{"d": 1, "c": 1}')


def test_unique_items():
    schema = {"type": "array", "items": {"type": ["number", "string"]}, "uniqueItems": True}
    grammar = Grammar.from_json_schema(schema)
    for text in ("[]", "[1, 2]", '["1", 1]', "[0.1, 1, 10]", '["a", "b", "ab"]'):
        assert accepts(grammar, text), text
    for text in ("[1, 1]", "[1, 2, 1.0]", "[10, 1e1]", '["a", "\\u0061"]', "[0, -0]"):
        assert not accepts(grammar, text), text


def test_combinators():
    a, b = Grammar.from_regex("a+"), Grammar.from_ebnf('root ::= "b"')
    concat, union = Grammar.concat(a, b), Grammar.union(a, b)
    assert accepts(concat, "aab") and not accepts(concat, "aa") and not accepts(concat, "b")
    assert accepts(union, "aa") and accepts(union, "b") and not accepts(union, "ab")


def test_builtin_json():
    grammar = Grammar.builtin_json_grammar()
    assert accepts(grammar, '{"a": [1, true, null, "x"]}')
    assert not accepts(grammar, '{"a": }')


def test_equality():
    grammar = Grammar.from_regex("a")
    assert grammar == grammar and grammar != Grammar.from_regex("a") and grammar != 1
    assert len({grammar, grammar}) == 1


def test_long_input_does_not_recurse():
    accepts(Grammar.builtin_json_grammar(), "[" * 100_000, require_termination=False)
    with pytest.raises(grammask.GrammaskError):
        Grammar.from_regex("(" * 200_000)
    with pytest.raises(grammask.GrammaskError):
        Grammar.from_json_schema("[" * 200_000)
