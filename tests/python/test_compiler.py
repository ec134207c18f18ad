"""GrammarCompiler and CompiledGrammar."""

import threading

import pytest

import grammask
from conftest import allowed_ids


def test_compile_forms(compiler, tokenizer_info, stop):
    for compiled in (
        compiler.compile_regex("ab"),
        compiler.compile_grammar('root ::= "ab"'),
        compiler.compile_grammar('start ::= "ab"', root_rule_name="start"),
        compiler.compile_grammar(grammask.Grammar.from_regex("ab"), root_rule_name="ignored"),
        compiler.compile_json_schema({"const": "ab"}),
    ):
        assert isinstance(compiled, grammask.CompiledGrammar)
        assert compiled.tokenizer_info == tokenizer_info
        assert isinstance(compiled.grammar, grammask.Grammar)
        assert compiled.memory_size_bytes > 0
        matcher = grammask.GrammarMatcher(compiled)
        text = "ab" if not str(compiled.grammar).count('\\"') else '"ab"'
        assert matcher.accept_string(text) and matcher.accept_token(stop)
    builtin = grammask.GrammarMatcher(compiler.compile_builtin_json_grammar())
    assert builtin.accept_string("[1]")


def test_empty_regex(compiler, stop):
    matcher = grammask.GrammarMatcher(compiler.compile_regex(""))
    assert matcher.is_completed() and allowed_ids(matcher, stop + 1) == {stop}


def test_cache_keeps_and_forgets(tokenizer_info):
    compiler = grammask.GrammarCompiler(tokenizer_info)
    assert compiler.cache_limit_bytes == -1
    assert compiler.get_cache_size_bytes() == 0
    schema = {"type": "integer"}
    first = compiler.compile_json_schema(schema)
    assert compiler.compile_json_schema('{"type": "integer"}') == first
    assert compiler.compile_json_schema(schema, any_whitespace=False) != first
    assert compiler.get_cache_size_bytes() > 0
    compiler.clear_cache()
    assert compiler.get_cache_size_bytes() == 0
    assert compiler.compile_json_schema(schema) != first
    assert grammask.GrammarMatcher(first).accept_string("12")  # lives on


def test_arguments_of_compile_json_schema(compiler):
    # Read by hand, so what Python does for others is tested here.
    call = compiler.compile_json_schema
    schema = '{"type": "integer"}'
    first = call(schema)
    assert call(schema=schema) == first
    assert call(schema, indent=None, any_whitespace=1, strict_mode=True, formats=None) == first
    assert call(schema, any_whitespace=None) != first
    options = {"any_order": True, "max_whitespace_cnt": 2, "on_unsupported": "widen"}
    assert call(schema, **options) == call(schema, **options) != first
    for args, kwargs, what in (
        ((), {}, "schema"),
        ((), {"indent": 2}, "schema"),
        ((schema, True), {}, "positional"),
        ((schema,), {"schema": schema}, "schema"),
        ((schema,), {"any_witespace": True}, "any_witespace"),
        ((schema,), {"indent": "2"}, "indent must be None or an int, not str"),
        ((schema,), {"indent": 1.5}, "indent"),
        ((schema,), {"max_whitespace_cnt": 1 << 40}, "max_whitespace_cnt"),
        ((schema,), {"strict_mode": "yes"}, "strict_mode must be a bool, not str"),
        ((schema,), {"root_whitespace": 1}, "root_whitespace"),
        ((schema,), {"separators": 3}, "separators"),
    ):
        with pytest.raises(TypeError, match=what):
            call(*args, **kwargs)


def test_cache_can_be_off(tokenizer_info):
    compiler = grammask.GrammarCompiler(tokenizer_info, cache_enabled=False)
    assert compiler.compile_regex("a") != compiler.compile_regex("a")
    assert compiler.get_cache_size_bytes() == 0


def test_cache_is_bounded(tokenizer_info):
    limit = 20_000
    compiler = grammask.GrammarCompiler(tokenizer_info, cache_limit_bytes=limit)
    assert compiler.cache_limit_bytes == limit
    first = compiler.compile_regex("first")
    for i in range(400):
        compiled = compiler.compile_regex(f"x{i}[a-z]*")
        matcher = grammask.GrammarMatcher(compiled)
        assert matcher.accept_string(f"x{i}abc")
        assert compiler.get_cache_size_bytes() <= limit + compiled.memory_size_bytes
    assert compiler.compile_regex("first") != first  # the least recently used went first


def test_limits_are_those_of_the_compiler(tokenizer_info):
    default = grammask.GrammarCompiler(tokenizer_info).limits
    assert default["max_source_bytes"] == 64 << 20 and default["max_mask_steps"] == 25_000_000
    schema = {"type": "string", "minLength": 3}
    few = grammask.GrammarCompiler(tokenizer_info, limits={"max_source_bytes": 20})
    assert few.limits == {**default, "max_source_bytes": 20}
    with pytest.raises(grammask.LimitError, match="max_source_bytes"):
        few.compile_json_schema(schema)
    few.compile_json_schema(True)


def test_a_limit_that_stops_a_mask_can_be_raised(tokenizer_info):
    # Each text of a's and b's leads to a state of its own.
    regex = "[ab]*a[ab]{9}"
    steps = 200

    def fill(limit):
        compiler = grammask.GrammarCompiler(tokenizer_info, limits={"max_mask_steps": limit})
        matcher = grammask.GrammarMatcher(compiler.compile_regex(regex))
        bitmask = grammask.allocate_token_bitmask(1, tokenizer_info.vocab_size)
        for i in range(200):
            matcher.fill_next_token_bitmask(bitmask)
            assert matcher.accept_string("ab"[i * i // 3 % 2] + "abba"[i % 4] * 3)

    with pytest.raises(grammask.LimitError, match="limits.max_mask_steps"):
        fill(steps)
    fill(1000 * steps)


def test_the_least_limits_end_in_errors_only(tokenizer_info):
    for name in grammask.GrammarCompiler(tokenizer_info).limits:
        compiler = grammask.GrammarCompiler(tokenizer_info, limits={name: 1})
        for schema in ({"type": "string", "maxLength": 9, "pattern": "a"}, {"enum": ["ab", 1]}):
            try:
                matcher = grammask.GrammarMatcher(compiler.compile_json_schema(schema))
                assert allowed_ids(matcher, tokenizer_info.vocab_size)
            except grammask.LimitError as error:
                assert name in str(error)


@pytest.mark.parametrize(
    "limits, error, words",
    [
        ({"max_masks": 1}, ValueError, "max_masks.*max_mask_steps"),
        ({"max_nesting": 0}, ValueError, r'limits\["max_nesting"\] is 0; it must be from 1'),
        ({"max_nesting": 2**31}, ValueError, "from 1 to 2147483647"),
        ({"max_mask_bytes": 2**70}, ValueError, "from 1 to"),
        ({"max_nesting": 1.5}, TypeError, "max_nesting.*an int"),
        ({"max_nesting": True}, TypeError, "max_nesting.*an int"),
        ({1: 1}, TypeError, "key of limits"),
        ([("max_nesting", 1)], TypeError, "mapping"),
    ],
)
def test_limits_that_are_none(tokenizer_info, limits, error, words):
    with pytest.raises(error, match=words):
        grammask.GrammarCompiler(tokenizer_info, limits=limits)


def test_options_are_part_of_the_key(compiler):
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    compact = compiler.compile_json_schema(schema, any_whitespace=False)
    spaced = compiler.compile_json_schema(schema)
    relaxed = compiler.compile_json_schema(schema, strict_mode=False)
    assert not grammask.GrammarMatcher(compact).accept_string('{ "a"')
    assert grammask.GrammarMatcher(spaced).accept_string('{ "a"')
    assert grammask.GrammarMatcher(relaxed).accept_string('{"a": 1, "b"')
    assert not grammask.GrammarMatcher(spaced).accept_string('{"a": 1, "b"')


def test_root_rule_is_part_of_the_key(compiler):
    ebnf = 'root ::= "a"\nother ::= "b"'
    assert grammask.GrammarMatcher(compiler.compile_grammar(ebnf)).accept_string("a")
    other = compiler.compile_grammar(ebnf, root_rule_name="other")
    assert grammask.GrammarMatcher(other).accept_string("b")


def test_stats_and_precompute(compiler):
    compiled = compiler.compile_json_schema({"type": "array", "items": {"type": "integer"}})
    stats = compiled.stats()
    assert set(stats) == {
        "seconds",
        "rules",
        "nodes",
        "states",
        "sets",
        "masks",
        "memory_bytes",
        "shortest_bytes",
    }
    assert stats["shortest_bytes"] == 2 and stats["seconds"] >= 0
    calls = []
    computed = compiled.precompute(2, max_states=1000, progress=lambda *n: calls.append(n))
    assert computed > 0
    assert compiled.stats()["masks"] >= stats["masks"] + 1
    assert all(len(call) == 2 for call in calls)


def test_precompute_arguments(compiler):
    compiled = compiler.compile_regex("[ab]*c")
    with pytest.raises(grammask.GrammaskError, match="threads"):
        compiled.precompute(0)


def test_compile_on_many_threads(tokenizer_info):
    compiler = grammask.GrammarCompiler(tokenizer_info)
    results, errors = [], []

    def work(number):
        try:
            for i in range(20):
                compiled = compiler.compile_json_schema({"type": "string", "maxLength": i})
                results.append((i, compiled))
                assert grammask.GrammarMatcher(compiled).accept_string('"' + "a" * i + '"')
        except BaseException as error:  # pylint: disable=broad-except
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    by_bound = {}
    for bound, compiled in results:
        assert by_bound.setdefault(bound, compiled) == compiled  # one compilation for each
