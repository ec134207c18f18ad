"""Options of JSON Schemas beyond those of xgrammar, and the warnings of widened ones."""

import pickle
from types import MappingProxyType

import pytest

import grammask
from grammask import Grammar
from grammask.testing import _is_grammar_accept_string as accepts

FRONT_ENDS = {
    "from_json_schema": lambda compiler: Grammar.from_json_schema,
    "compile_json_schema": lambda compiler: compiler.compile_json_schema,
}


@pytest.fixture(params=FRONT_ENDS)
def read(request, compiler):
    return FRONT_ENDS[request.param](compiler)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"registry": ["x"]}, "registry must be None or a mapping of URI to schema, not list"),
        ({"registry": {1: "{}"}}, "each key of registry must be str"),
        ({"registry": {"x:y": 1}}, "registry['x:y'] must be JSON text, a dict or a bool, not int"),
        ({"formats": "x"}, "formats must be None or a mapping of format name"),
        ({"formats": {"x": None}}, "formats['x'] must be str"),
        ({"on_unsupported": True}, "on_unsupported must be str"),
        ({"on_unsupported": None}, "on_unsupported must be str"),
    ],
)
def test_wrong_types(read, options, message):
    with pytest.raises(TypeError) as caught:
        read({"type": "integer"}, **options)
    assert message in str(caught.value)


def test_wrong_values(read):
    with pytest.raises(ValueError, match="on_unsupported is 'warn'.*\"error\" or \"widen\""):
        read({"type": "integer"}, on_unsupported="warn")
    with pytest.raises(TypeError):
        read({"type": "integer"}, root_whitespace="yes")
    with pytest.raises(TypeError):
        read({"type": "integer"}, True)


@pytest.mark.parametrize("mapping", [None, {}, MappingProxyType({})])
def test_mappings_may_be_empty(read, mapping):
    assert read({"type": "integer"}, registry=mapping, formats=mapping).warnings == []


def test_root_whitespace():
    grammar = Grammar.from_json_schema({"type": "integer"}, root_whitespace=True)
    assert accepts(grammar, " \n1\t")
    assert not accepts(Grammar.from_json_schema({"type": "integer"}), "1\t")
    compact = Grammar.from_json_schema(
        {}, root_whitespace=True, any_whitespace=False, max_whitespace_cnt=1
    )
    assert accepts(compact, "\n[1, 2] ")
    assert not accepts(compact, "[1,  2]")
    assert not accepts(compact, "[1, 2]  ")


def test_options_are_part_of_the_key(compiler):
    schema = {"type": "integer"}
    forms = [
        {},
        {"root_whitespace": True},
        {"on_unsupported": "widen"},
        {"registry": {"x:a": True}},
        {"registry": {"x:a": {}}},
        {"formats": {"a": "b"}},
    ]
    compiled = [compiler.compile_json_schema(schema, **form) for form in forms]
    assert len(set(compiled)) == len(forms)
    again = compiler.compile_json_schema(schema, registry={"x:a": "true"}, on_unsupported="error")
    assert again == compiled[3]


def test_no_warnings_without_widening(compiler):
    assert Grammar.from_regex("a").warnings == []
    assert compiler.compile_regex("a").warnings == []
    assert Grammar.from_json_schema({}, on_unsupported="widen").warnings == []


HARD = {"properties": {"a": {"pattern": "(x)\\1", "maxLength": 3}, "b": {"type": "null"}}}


def test_widening(compiler):
    with pytest.raises(grammask.SchemaError):
        Grammar.from_json_schema(HARD)
    grammar = Grammar.from_json_schema(HARD, on_unsupported="widen")
    (warning,) = grammar.warnings
    assert isinstance(warning, grammask.SchemaWarning)
    assert (warning.pointer, warning.keyword) == ("#/properties/a", "pattern")
    assert "backreferences" in warning.reason
    assert accepts(grammar, '{"a": "xyz", "b": null}')
    assert not accepts(grammar, '{"a": "wxyz"}') and not accepts(grammar, '{"b": 1}')
    assert compiler.compile_json_schema(HARD, on_unsupported="widen").warnings == [warning]
    assert compiler.compile_grammar(grammar).warnings == [warning]
    plain = Grammar.from_regex("a")
    assert Grammar.union(plain, grammar).warnings == [warning]
    assert Grammar.concat(grammar, plain, grammar).warnings == [warning, warning]
    assert compiler.compile_json_schema({}, on_unsupported="widen").warnings == []


def test_schema_warning_is_a_named_tuple():
    warning = grammask.SchemaWarning("#/a", "not", "why")
    assert warning == ("#/a", "not", "why")
    assert (warning.pointer, warning.keyword, warning.reason) == warning
    assert pickle.loads(pickle.dumps(warning)) == warning
