"""GrammarMatcher: stepping, masks, rollback, and what engines rely on."""

import numpy
import pytest

import grammask
from conftest import allowed_ids, ids_by_trial

JSON_SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "flag": {"type": "boolean"},
        "list": {"type": "array", "items": {"type": "integer"}},
    },
    "required": ["name", "flag"],
}


def test_accept_and_terminate(matcher_of, stop):
    matcher = matcher_of('root ::= "ab"')
    assert not matcher.accept_token(stop) and not matcher.is_completed()
    assert matcher.accept_token(ord("a")) and not matcher.accept_token(ord("a"))
    assert matcher.accept_string("b") and matcher.is_completed() and not matcher.is_terminated()
    assert matcher.accept_token(stop) and matcher.is_terminated()
    assert not matcher.accept_token(stop) and not matcher.accept_token(ord("a"))
    assert not matcher.accept_string("")
    assert matcher.num_steps == 3
    matcher.rollback(1)
    assert not matcher.is_terminated() and matcher.is_completed()
    matcher.reset()
    assert matcher.num_steps == 0 and matcher.accept_string(b"ab")


@pytest.mark.parametrize("token", [-1, 10_000, 1 << 31, 1 << 40, -(1 << 40)])
def test_tokens_out_of_range_are_refused(matcher_of, token):
    assert matcher_of('root ::= "a"').accept_token(token) is False


@pytest.mark.parametrize("token", ["a", 1.0, None, b"a", 1 << 70])
def test_token_of_a_wrong_type(matcher_of, token):
    with pytest.raises(TypeError):
        matcher_of('root ::= "a"').accept_token(token)


def test_integer_likes_are_tokens(matcher_of):
    matcher = matcher_of('root ::= "a"')
    assert matcher.accept_token(numpy.int64(ord("a")))
    matcher.rollback(numpy.int32(1))
    assert matcher.accept_token(numpy.uint16(ord("a")))


def test_special_and_empty_tokens_are_never_text(tokens):
    info = grammask.TokenizerInfo(tokens, special_token_ids=[ord("a")])
    matcher = grammask.GrammarMatcher(grammask.GrammarCompiler(info).compile_regex("[ab]+"))
    assert not matcher.accept_token(ord("a")) and matcher.accept_string("a")
    assert not matcher.accept_token(len(tokens) - 2)
    assert ord("a") not in allowed_ids(matcher, len(tokens))


def test_accept_string_is_one_step_and_atomic(matcher_of):
    matcher = matcher_of('root ::= "abc" "é"')
    assert not matcher.accept_string("abx") and matcher.num_steps == 0
    assert matcher.accept_string("ab") and matcher.accept_string("")
    assert matcher.num_steps == 2
    matcher.rollback(2)
    assert matcher.accept_string(bytearray(b"abc\xc3")) and matcher.accept_string(b"\xa9")
    with pytest.raises(RuntimeError):
        matcher.accept_string(1)


def test_masks_equal_trial(compiler, tokens):
    matcher = grammask.GrammarMatcher(compiler.compile_json_schema(JSON_SCHEMA))
    for text in (
        "",
        "{",
        '"name',
        '": "x',
        'y\\',
        'n"',
        ', "flag": ',
        "true",
        ', "list": [1',
        "2]}",
    ):
        assert matcher.accept_string(text)
        assert allowed_ids(matcher, len(tokens)) == ids_by_trial(matcher, len(tokens))
    assert matcher.is_completed()


def test_fill_returns_whether_anything_is_refused(stop):
    info = grammask.TokenizerInfo(["a", "b", "</s>"], stop_token_ids=[2])
    mask = numpy.zeros((1, 1), dtype=numpy.int32)
    compiler = grammask.GrammarCompiler(info)
    assert (
        grammask.GrammarMatcher(compiler.compile_regex("a*")).fill_next_token_bitmask(mask) is True
    )
    assert mask[0, 0] & 7 == 0b101
    free = grammask.GrammarMatcher(compiler.compile_regex("[ab]*"))
    assert free.fill_next_token_bitmask(mask) is False
    assert mask[0, 0] & 7 == 0b111


def test_fill_writes_its_row_only(matcher_of, tokens):
    mask = numpy.full(grammask.get_bitmask_shape(3, len(tokens)), 77, dtype=numpy.int32)
    matcher_of('root ::= "a"').fill_next_token_bitmask(mask, 1)
    assert (mask[0] == 77).all() and (mask[2] == 77).all() and not (mask[1] == 77).any()


def test_dead_end_is_a_row_of_zeros():
    info = grammask.TokenizerInfo(["a", "</s>"], stop_token_ids=[1])
    matcher = grammask.GrammarMatcher(grammask.GrammarCompiler(info).compile_regex("ab"))
    assert matcher.accept_token(0)
    mask = numpy.full((1, 1), -1, dtype=numpy.int32)
    assert matcher.fill_next_token_bitmask(mask) is True
    assert mask[0, 0] == 0


def test_termination_forbids_fill_and_jump(matcher_of, stop):
    matcher = matcher_of('root ::= "a"')
    matcher.accept_string("a")
    matcher.accept_token(stop)
    mask = numpy.full(grammask.get_bitmask_shape(1, stop + 1), 77, dtype=numpy.int32)
    for call in (lambda: matcher.fill_next_token_bitmask(mask), matcher.find_jump_forward_string):
        with pytest.raises(RuntimeError) as caught:
            call()
        assert caught.value.code == "failed_precondition"
    assert (mask == 77).all()


def test_rollback_bounds(matcher_of):
    matcher = matcher_of('root ::= "a"+')
    matcher.rollback(0)
    for _ in range(5):
        matcher.accept_string("a")
    for steps in (6, -1, 1 << 30):
        with pytest.raises(RuntimeError):
            matcher.rollback(steps)
    assert matcher.num_steps == 5
    matcher.rollback(5)
    assert not matcher.is_completed()


def test_rollback_restores_masks(compiler, tokens):
    matcher = grammask.GrammarMatcher(compiler.compile_json_schema(JSON_SCHEMA))
    masks = []
    document = '{"name": "ab", "flag": true, "list": [1, 22]}'
    for character in document:
        masks.append(allowed_ids(matcher, len(tokens)))
        assert matcher.accept_string(character)
    for expected in reversed(masks):
        matcher.rollback(1)
        assert allowed_ids(matcher, len(tokens)) == expected


def test_fork_is_independent(matcher_of, stop):
    matcher = matcher_of('root ::= "a" ("b" | "c")', default_temperature=0.5)
    matcher.accept_string("a")
    fork = matcher.fork()
    assert isinstance(fork, grammask.GrammarMatcher) and fork.temperature == 0.5
    assert fork.accept_string("b") and fork.accept_token(stop)
    assert matcher.accept_string("c") and not matcher.is_terminated()
    fork.rollback(3)
    assert fork.accept_string("ac")


def test_jump_forward(matcher_of):
    matcher = matcher_of('root ::= "hello" (" world" | " wonder")')
    assert matcher.find_jump_forward_string() == "hello wo"
    matcher.accept_string("hello wor")
    assert matcher.find_jump_forward_string() == "ld"
    matcher.accept_string("ld")
    assert matcher.find_jump_forward_string() == ""
    assert matcher_of('root ::= "é" | "è"').find_jump_forward_string() == ""


def test_matching_prefix(matcher_of):
    matcher = matcher_of('root ::= "añb"')
    assert matcher.matching_prefix("añc") == 3
    assert matcher.matching_prefix(b"a\xc3") == 2
    assert matcher.matching_prefix("") == 0 and matcher.num_steps == 0


def test_shortest_completion(matcher_of, tokens):
    matcher = matcher_of('root ::= "[" ("ab" | "abc" | "12" [0-9]{4})* "]"')
    assert matcher.shortest_completion_bytes() == 2
    matcher.accept_string("[")
    assert matcher.shortest_completion_bytes() == 1
    assert matcher.shortest_completion_after(ord("1")) == 6
    assert matcher.shortest_completion_after(ord("a")) == 2
    assert matcher.shortest_completion_after(ord("x")) is None
    assert matcher.shortest_completion_after(ord("]")) == 0
    assert matcher.num_steps == 1


def test_stop_tokens(compiler, stop):
    compiled = compiler.compile_regex("a")
    assert grammask.GrammarMatcher(compiled).stop_token_ids == [stop]
    for given in (7, [7], (7,), numpy.array([7])):
        matcher = grammask.GrammarMatcher(compiled, override_stop_tokens=given)
        assert matcher.stop_token_ids == [7]
        assert matcher.accept_string("a")
        assert not matcher.accept_token(stop) and matcher.accept_token(7)
        assert matcher.is_terminated()
    for wrong in ([], [stop + 1], [-1]):
        with pytest.raises(RuntimeError):
            grammask.GrammarMatcher(compiled, override_stop_tokens=wrong)
    with pytest.raises(TypeError):
        grammask.GrammarMatcher(compiled, override_stop_tokens="a")


def test_terminate_without_stop_token(matcher_of):
    matcher = matcher_of('root ::= "ab"', terminate_without_stop_token=True)
    assert matcher.accept_string("a") and not matcher.is_terminated()
    assert matcher.accept_string("b") and matcher.is_terminated()
    matcher.rollback(1)
    assert not matcher.is_terminated()


def test_max_rollback_tokens_is_deprecated(compiler):
    compiled = compiler.compile_regex("a*")
    with pytest.deprecated_call():
        matcher = grammask.GrammarMatcher(compiled, max_rollback_tokens=1)
    assert matcher.max_rollback_tokens == -1
    for _ in range(5):
        matcher.accept_string("a")
    matcher.rollback(5)


def test_temperature(compiler):
    compiled = compiler.compile_regex("a")
    assert grammask.GrammarMatcher(compiled).temperature is None
    assert grammask.GrammarMatcher(compiled, default_temperature=0).temperature == 0
    for wrong in (-0.5, float("inf"), float("nan")):
        with pytest.raises(RuntimeError):
            grammask.GrammarMatcher(compiled, default_temperature=wrong)


def test_matcher_keeps_what_it_needs(tokenizer_info):
    matcher = grammask.GrammarMatcher(
        grammask.GrammarCompiler(grammask.TokenizerInfo(["a", "</s>"])).compile_regex("a*")
    )
    assert matcher.accept_token(0)
    assert matcher.compiled_grammar.tokenizer_info.vocab_size == 2


def test_subclasses_work(compiler):
    class Counting(grammask.GrammarMatcher):
        calls = 0

        def accept_token(self, token_id, *, debug_print=False):
            self.calls += 1
            return super().accept_token(token_id, debug_print=debug_print)

    matcher = Counting(compiler.compile_regex("a*"))
    assert matcher.accept_token(ord("a")) and matcher.calls == 1
    mask = grammask.allocate_token_bitmask(1, 4)
    with pytest.raises(grammask.GrammaskError):
        grammask.BatchGrammarMatcher(1).batch_fill_next_token_bitmask([matcher], mask)


def test_empty_vocabulary():
    compiler = grammask.GrammarCompiler(grammask.TokenizerInfo([]))
    matcher = grammask.GrammarMatcher(compiler.compile_regex("a+"))
    assert matcher.accept_string("aa") and matcher.is_completed()
    assert not matcher.accept_token(0)
    matcher.fill_next_token_bitmask(numpy.zeros((1, 0), dtype=numpy.int32))


def test_internal_state_is_text(matcher_of):
    assert "steps accepted: 0" in matcher_of('root ::= "a"')._debug_print_internal_state()
