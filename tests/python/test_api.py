"""The surface: names, signatures, stubs, and what importing costs."""

import ast
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import grammask

PACKAGE = Path(grammask.__file__).parent

# The calls that inference engines make, with the defaults that they rely on.
SIGNATURES = {
    "Grammar.from_ebnf": "(ebnf_string, *, root_rule_name='root')",
    "Grammar.from_json_schema": "(schema, *, any_whitespace=True, indent=None, separators=None, "
    "strict_mode=True, max_whitespace_cnt=None, print_converted_ebnf=False, any_order=False)",
    "Grammar.from_regex": "(regex_string, *, print_converted_ebnf=False)",
    "Grammar.from_lark": "(lark_string, *, tokenizer_info=None, named_grammars=None)",
    "Grammar.from_structural_tag": "(*args, **kwargs)",
    "Grammar.builtin_json_grammar": "()",
    "Grammar.concat": "(*grammars)",
    "Grammar.union": "(*grammars)",
    "GrammarCompiler.__init__": "(self, tokenizer_info, *, max_threads=8, cache_enabled=True, "
    "cache_limit_bytes=-1)",
    "GrammarCompiler.compile_json_schema": "(self, schema, *, any_whitespace=True, indent=None, "
    "separators=None, strict_mode=True, max_whitespace_cnt=None, any_order=False)",
    "GrammarCompiler.compile_builtin_json_grammar": "(self)",
    "GrammarCompiler.compile_regex": "(self, regex)",
    "GrammarCompiler.compile_lark": "(self, lark_string, *, named_grammars=None)",
    "GrammarCompiler.compile_structural_tag": "(self, *args, **kwargs)",
    "GrammarCompiler.compile_grammar": "(self, grammar, *, root_rule_name='root')",
    "GrammarCompiler.clear_cache": "(self)",
    "GrammarCompiler.get_cache_size_bytes": "(self)",
    "GrammarMatcher.__init__": "(self, compiled_grammar, *, override_stop_tokens=None, "
    "terminate_without_stop_token=False, max_rollback_tokens=-1, default_temperature=None)",
    "GrammarMatcher.accept_token": "(self, token_id, *, debug_print=False)",
    "GrammarMatcher.accept_string": "(self, input_str, *, debug_print=False)",
    "GrammarMatcher.fill_next_token_bitmask": "(self, bitmask, index=0, *, debug_print=False)",
    "GrammarMatcher.find_jump_forward_string": "(self)",
    "GrammarMatcher.rollback": "(self, num_tokens=1)",
    "GrammarMatcher.get_captures": "(self, *, deduplicate=True)",
    "GrammarMatcher.is_terminated": "(self)",
    "GrammarMatcher.is_completed": "(self)",
    "GrammarMatcher.reset": "(self)",
    "GrammarMatcher.fork": "(self)",
    "BatchGrammarMatcher.__init__": "(self, max_threads='auto')",
    "BatchGrammarMatcher.batch_fill_next_token_bitmask": "(self, matchers, bitmask, indices=None, "
    "debug_print=False)",
    "BatchGrammarMatcher.batch_accept_token": "(matchers, tokens, debug_print=False)",
    "BatchGrammarMatcher.batch_accept_string": "(matchers, strings, debug_print=False)",
    "BatchGrammarMatcher.batch_rollback": "(matchers, num_tokens=1)",
    "TokenizerInfo.from_huggingface": "(tokenizer, *, vocab_size=None, stop_token_ids=None)",
    "TokenizerInfo.from_vocab_and_metadata": "(encoded_vocab, metadata)",
    "TokenizerInfo.dump_metadata": "(self)",
    "TokenizerInfo._detect_metadata_from_hf": "(backend_str)",
    "allocate_token_bitmask": "(batch_size, vocab_size)",
    "apply_token_bitmask_inplace": "(logits, bitmask, *, vocab_size=None, indices=None, "
    "backend='auto')",
    "get_bitmask_shape": "(batch_size, vocab_size)",
    "reset_token_bitmask": "(bitmask)",
}

# What we add to them: keyword-only, after theirs.
SCHEMA_ADDITIONS = ", registry=None, formats=None, on_unsupported='error', root_whitespace=False)"
ADDITIONS = {
    "Grammar.from_json_schema": SCHEMA_ADDITIONS,
    "GrammarCompiler.__init__": ", limits=None)",
    "GrammarCompiler.compile_json_schema": SCHEMA_ADDITIONS,
    "apply_token_bitmask_inplace": ", vocab_offset=0, stream=None)",
}


def resolve(name):
    value = grammask
    for part in name.split("."):
        value = getattr(value, part)
    return value


def bare(signature):
    """A signature without annotations."""
    return str(
        signature.replace(
            parameters=[
                parameter.replace(annotation=inspect.Parameter.empty)
                for parameter in signature.parameters.values()
            ],
            return_annotation=inspect.Signature.empty,
        )
    )


@pytest.mark.parametrize("name", SIGNATURES)
def test_signature(name):
    theirs, signature = SIGNATURES[name], inspect.signature(resolve(name))
    ours = theirs[:-1] + ADDITIONS[name] if name in ADDITIONS else theirs
    assert bare(signature) == ours
    added = list(signature.parameters.values())[theirs.count(",") - theirs.count("*,") + 1 :]
    if name in ADDITIONS:
        assert [p.name for p in added] == [
            part.split("=")[0].strip() for part in ADDITIONS[name].split(",")[1:]
        ]
        assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in added)


def test_tokenizer_info_constructor_keywords():
    parameters = inspect.signature(grammask.TokenizerInfo.__init__).parameters
    assert list(parameters) == [
        "self",
        "encoded_vocab",
        "vocab_type",
        "vocab_size",
        "stop_token_ids",
        "add_prefix_space",
        "special_token_ids",
    ]
    for name in ("vocab_size", "stop_token_ids", "add_prefix_space", "special_token_ids"):
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY


@pytest.mark.parametrize(
    "call",
    [
        lambda c: c.compile_json_schema("{}", True),
        lambda c: c.compile_grammar('root ::= "a"', "root"),
        lambda c: grammask.Grammar.from_ebnf('root ::= "a"', "root"),
        lambda c: grammask.GrammarMatcher(c.compile_regex("a"), [1]),
        lambda c: grammask.GrammarCompiler(c.compile_regex("a").tokenizer_info, 8),
        lambda c: grammask.TokenizerInfo([], grammask.VocabType.RAW, 5),
    ],
)
def test_keyword_only_arguments_are(call, compiler):
    with pytest.raises(TypeError):
        call(compiler)


def test_public_names():
    for name in grammask.__all__:
        value = getattr(grammask, name)
        if inspect.isclass(value):
            assert value.__module__ in ("grammask", "grammask.exception")
            assert value.__doc__
    assert grammask.__version__ == "0.1.0"
    assert [member.name for member in grammask.VocabType] == ["RAW", "BYTE_FALLBACK", "BYTE_LEVEL"]
    assert [member.value for member in grammask.VocabType] == [0, 1, 2]
    with pytest.raises(AttributeError):
        grammask.no_such_name


def test_every_public_method_has_a_docstring():
    for name in ("TokenizerInfo", "Grammar", "CompiledGrammar", "GrammarCompiler"):
        for key, value in vars(getattr(grammask, name)).items():
            if not key.startswith("_"):
                assert value.__doc__, f"{name}.{key}"
    for name in ("GrammarMatcher", "BatchGrammarMatcher"):
        for key, value in vars(getattr(grammask, name)).items():
            if not key.startswith("_"):
                assert value.__doc__, f"{name}.{key}"


def stub_members():
    tree = ast.parse((PACKAGE / "_core.pyi").read_text())
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            for item in node.body:
                if isinstance(item, ast.FunctionDef):
                    yield node.name, item
        elif isinstance(node, ast.FunctionDef):
            yield None, node


def test_stubs_agree_with_the_module():
    from grammask import _core

    described = set()
    for owner, function in stub_members():
        described.add((owner, function.name))
        value = getattr(_core, owner) if owner else _core
        value = inspect.getattr_static(value, function.name)
        decorators = {d.id for d in function.decorator_list if isinstance(d, ast.Name)}
        if "property" in decorators:
            assert isinstance(value, property), function.name
            continue
        if function.name in ("__eq__", "__hash__"):
            continue
        runtime = inspect.signature(
            getattr(getattr(_core, owner) if owner else _core, function.name)
        )
        arguments = function.args
        names = [a.arg for a in arguments.posonlyargs + arguments.args]
        names += [a.arg for a in arguments.kwonlyargs]
        names += [a.arg for a in (arguments.vararg, arguments.kwarg) if a]
        assert sorted(runtime.parameters) == sorted(names), (owner, function.name)
    for name in (
        "TokenizerInfo",
        "Grammar",
        "CompiledGrammar",
        "GrammarCompiler",
        "GrammarMatcher",
    ):
        for key in vars(getattr(_core, name)):
            if not key.startswith("_"):
                assert (name, key) in described, f"{name}.{key} is missing from the stubs"


def test_typed_package():
    assert (PACKAGE / "py.typed").is_file()


def run_python(code):
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ)
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_import_loads_no_heavy_module():
    loaded = json.loads(
        run_python(
            "import sys, json, grammask;"
            "print(json.dumps([m for m in ('torch', 'transformers', 'numpy', 'pydantic') "
            "if m in sys.modules]))"
        )
    )
    assert loaded == []


def test_import_is_fast():
    # The best of several, because the machine may be busy; the bound is generous.
    code = "import time; t = time.perf_counter(); import grammask; print(time.perf_counter() - t)"
    assert min(float(run_python(code)) for _ in range(5)) < 0.2


def test_nothing_is_printed():
    code = """
import grammask, warnings
warnings.simplefilter("ignore")
info = grammask.TokenizerInfo(["a", "b", "</s>"])
compiler = grammask.GrammarCompiler(info)
matcher = grammask.GrammarMatcher(compiler.compile_regex("a+"), max_rollback_tokens=3)
matcher.accept_token(7, debug_print=True)
matcher.accept_token(-1, debug_print=True)
matcher.accept_string("x", debug_print=True)
matcher.accept_token(0, debug_print=True)
matcher.accept_token(2, debug_print=True)
matcher.accept_token(2, debug_print=True)
grammask.Grammar.from_regex("a", print_converted_ebnf=True)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_debug_output_goes_to_the_logger(matcher_of, caplog):
    caplog.set_level("DEBUG", logger="grammask")
    matcher = matcher_of('root ::= "ab"')
    matcher.accept_string("a", debug_print=True)
    matcher.accept_token(7, debug_print=True)
    grammask.Grammar.from_regex("xyz", print_converted_ebnf=True)
    text = caplog.text
    assert "accept_string" in text and "token 7 refused" in text and "xyz" in text
