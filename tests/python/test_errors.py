"""Errors: their classes, codes and messages."""

import pickle

import pytest

import grammask
from grammask import exception


@pytest.mark.parametrize("name", exception.__all__)
def test_hierarchy(name):
    error = getattr(exception, name)
    assert issubclass(error, grammask.GrammaskError)
    assert issubclass(error, RuntimeError) and issubclass(error, ValueError)
    assert getattr(grammask, name) is error


def test_errors_pickle():
    error = pickle.loads(pickle.dumps(grammask.SchemaError("no", code="unsupported")))
    assert isinstance(error, grammask.SchemaError)
    assert (str(error), error.code) == ("no", "unsupported")


@pytest.mark.parametrize(
    "make, kind, code",
    [
        (
            lambda: grammask.Grammar.from_ebnf('root ::= "a'),
            grammask.GrammarError,
            "invalid_argument",
        ),
        (
            lambda: grammask.Grammar.from_ebnf("root ::= a"),
            grammask.GrammarError,
            "invalid_argument",
        ),
        (
            lambda: grammask.Grammar.from_ebnf('root ::= "a"', root_rule_name="b"),
            grammask.GrammarError,
            "invalid_argument",
        ),
        (lambda: grammask.Grammar.from_regex("("), grammask.RegexError, "invalid_argument"),
        (lambda: grammask.Grammar.from_json_schema("{"), grammask.SchemaError, "invalid_argument"),
        (lambda: grammask.Grammar.from_json_schema("false"), grammask.SchemaError, "unsatisfiable"),
        (lambda: grammask.Grammar.from_json_schema(False), grammask.SchemaError, "unsatisfiable"),
        (lambda: grammask.Grammar.from_lark("start: A"), grammask.GrammarError, "unsupported"),
        (lambda: grammask.Grammar.from_structural_tag({}), grammask.GrammarError, "unsupported"),
        (
            lambda: grammask.TokenizerInfo(["a"], stop_token_ids=[7]),
            grammask.TokenizerError,
            "invalid_argument",
        ),
        (
            lambda: grammask.TokenizerInfo.from_vocab_and_metadata(["a"], "{"),
            grammask.TokenizerError,
            "invalid_argument",
        ),
        (
            lambda: grammask.TokenizerInfo._detect_metadata_from_hf("{"),
            grammask.TokenizerError,
            "invalid_argument",
        ),
    ],
)
def test_class_and_code(make, kind, code):
    with pytest.raises(kind) as caught:
        make()
    assert type(caught.value) is kind
    assert caught.value.code == code
    assert str(caught.value)


@pytest.mark.parametrize("schema", [1, [1], None, 2.5, object(), int])
def test_schema_of_a_wrong_type(compiler, schema):
    with pytest.raises(ValueError, match="JSON text, a dict, or a pydantic model class"):
        compiler.compile_json_schema(schema)


def test_schema_dict_that_contains_itself(compiler):
    schema = {"type": "array"}
    schema["items"] = schema
    with pytest.raises(ValueError):
        compiler.compile_json_schema(schema)


@pytest.mark.parametrize(
    "call",
    [
        lambda c: c.compile_regex(1),
        lambda c: c.compile_regex(b"a"),
        lambda c: grammask.Grammar.from_ebnf(1),
        lambda c: grammask.Grammar.from_regex(None),
        lambda c: grammask.Grammar.union("a"),
        lambda c: c.compile_json_schema("{}", indent="a"),
        lambda c: c.compile_json_schema("{}", separators=(",",)),
        lambda c: c.compile_json_schema("{}", separators=(1, 2)),
        lambda c: grammask.TokenizerInfo(None),
        lambda c: grammask.TokenizerInfo({"a": 0}),
        lambda c: grammask.TokenizerInfo(t for t in "ab"),
        lambda c: grammask.TokenizerInfo("ab"),
        lambda c: grammask.TokenizerInfo(["a"], 1),
        lambda c: grammask.TokenizerInfo(["a"], stop_token_ids="a"),
    ],
)
def test_argument_of_a_wrong_type(compiler, call):
    with pytest.raises(TypeError):
        call(compiler)


def test_unsuitable_arguments(compiler, tokenizer_info):
    with pytest.raises(ValueError, match="TokenizerInfo"):
        grammask.GrammarCompiler("a")
    with pytest.raises(RuntimeError, match="-2"):
        grammask.GrammarCompiler(tokenizer_info, cache_limit_bytes=-2)
    with pytest.raises(ValueError, match="EBNF text or a grammask.Grammar"):
        compiler.compile_grammar(1)
    with pytest.raises(ValueError, match="EBNF text or a grammask.Grammar"):
        compiler.compile_grammar(b'root ::= "a"')
    with pytest.raises(ValueError, match="CompiledGrammar"):
        grammask.GrammarMatcher("a")
    with pytest.raises(RuntimeError, match=r"encoded_vocab\[1\].*int"):
        grammask.TokenizerInfo(["a", 1])
    with pytest.raises(RuntimeError):
        compiler.compile_json_schema("{}", max_whitespace_cnt=0)
    with pytest.raises(RuntimeError):
        compiler.compile_json_schema("{}", any_whitespace=False, indent=-1)


def test_calls_that_are_not_available(compiler):
    matcher = grammask.GrammarMatcher(compiler.compile_regex("a"))
    for call in (
        lambda: compiler.compile_lark("start: A"),
        lambda: compiler.compile_structural_tag({}),
        lambda: matcher.traverse_draft_tree(1, 2, 3, 4),
        lambda: matcher.get_captures(),
    ):
        with pytest.raises(grammask.GrammaskError, match="not available") as caught:
            call()
        assert caught.value.code == "unsupported"


def test_lone_surrogates_are_refused_not_replaced(compiler):
    matcher = grammask.GrammarMatcher(compiler.compile_regex(".*"))
    with pytest.raises(ValueError):
        matcher.accept_string("\ud800")
    with pytest.raises(ValueError):
        compiler.compile_regex("\ud800")
    assert matcher.num_steps == 0
