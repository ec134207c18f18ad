"""BatchGrammarMatcher."""

import numpy
import pytest

import grammask
from grammask import BatchGrammarMatcher
from conftest import allowed_ids

GRAMMARS = ['root ::= "ab"', "root ::= [0-9]+", 'root ::= "true" | "false"', 'root ::= [^"]*']


@pytest.fixture
def matchers(matcher_of):
    return [matcher_of(GRAMMARS[i % len(GRAMMARS)]) for i in range(17)]


def rows_of(mask, vocab_size):
    bits = numpy.unpackbits(
        numpy.ascontiguousarray(mask).view(numpy.uint8), axis=-1, bitorder="little"
    )
    return [set(numpy.flatnonzero(row[:vocab_size]).tolist()) for row in bits]


@pytest.mark.parametrize("threads", ["auto", 1, 2, 5])
def test_fill(matchers, tokens, threads):
    expected = [allowed_ids(matcher, len(tokens)) for matcher in matchers]
    batch = BatchGrammarMatcher(threads)
    shape = grammask.get_bitmask_shape(20, len(tokens))
    mask = numpy.full(shape, 77, dtype=numpy.int32)
    assert batch.batch_fill_next_token_bitmask(matchers, mask) is None
    assert rows_of(mask, len(tokens))[:17] == expected and (mask[17:] == 77).all()
    mask[:] = 77
    indices = [19 - i for i in range(17)]
    batch.batch_fill_next_token_bitmask(matchers, mask, indices)
    assert [rows_of(mask, len(tokens))[i] for i in indices] == expected
    assert (mask[:3] == 77).all()


def test_fill_torch_and_views(matchers, tokens):
    torch = pytest.importorskip("torch")
    expected = [allowed_ids(matcher, len(tokens)) for matcher in matchers]
    mask = grammask.allocate_token_bitmask(34, len(tokens))
    indices = torch.arange(17, dtype=torch.int32)
    BatchGrammarMatcher(2).batch_fill_next_token_bitmask(matchers, mask[::2], indices)
    assert rows_of(mask[::2].numpy(), len(tokens)) == expected
    assert bool((mask[1::2] == -1).all())


def test_nothing_to_fill():
    BatchGrammarMatcher(1).batch_fill_next_token_bitmask([], numpy.zeros((0, 1), numpy.int32))


def test_refusals_write_nothing(matchers, matcher_of, tokens, stop):
    batch = BatchGrammarMatcher(2)
    width = grammask.get_bitmask_shape(1, len(tokens))[1]
    ended = matcher_of('root ::= "a"')
    ended.accept_string("a")
    ended.accept_token(stop)
    other = grammask.GrammarMatcher(
        grammask.GrammarCompiler(grammask.TokenizerInfo(["a"] * 1000)).compile_regex("a")
    )
    two = matchers[:2]
    for chosen, shape, indices in (
        (two, (2, width), [0]),
        (two, (2, width), [0, 2]),
        (two, (2, width), [0, -1]),
        (two, (2, width), [0, 0]),
        (two, (1, width), None),
        (two, (2, width + 1), None),
        (two, (width,), None),
        ([two[0], two[0]], (2, width), None),
        ([two[0], ended], (2, width), None),
        ([two[0], other], (2, width), None),
    ):
        mask = numpy.full(shape, 77, dtype=numpy.int32)
        with pytest.raises(RuntimeError):
            batch.batch_fill_next_token_bitmask(chosen, mask, indices)
        assert (mask == 77).all()
    for chosen in ([two[0], "a"], [None], two[0], None):
        with pytest.raises(TypeError):
            batch.batch_fill_next_token_bitmask(chosen, numpy.zeros((2, width), numpy.int32))
    # All matchers are usable again.
    batch.batch_fill_next_token_bitmask(two, numpy.zeros((2, width), numpy.int32))


def test_duplicates_are_named(matchers):
    with pytest.raises(grammask.GrammaskError, match=r"matchers\[2\] is also matchers\[0\]"):
        BatchGrammarMatcher.batch_accept_token([matchers[0], matchers[1], matchers[0]], [1, 1, 1])


def test_accept(matchers, stop):
    two = [matchers[0], matchers[1]]
    assert BatchGrammarMatcher.batch_accept_token(two, [ord("a"), ord("a")]) == [True, False]
    assert BatchGrammarMatcher.batch_accept_token(two, numpy.array([stop, 1 << 40])) == [
        False,
        False,
    ]
    assert BatchGrammarMatcher.batch_accept_string(two, ["b", b"12"]) == [True, True]
    assert BatchGrammarMatcher.batch_accept_token(two, [stop, stop]) == [True, True]
    assert [matcher.is_terminated() for matcher in two] == [True, True]
    for call in (
        lambda: BatchGrammarMatcher.batch_accept_token(two, [1]),
        lambda: BatchGrammarMatcher.batch_accept_string(two, ["b"]),
        lambda: BatchGrammarMatcher.batch_accept_string(two, [1, 2]),
    ):
        with pytest.raises(RuntimeError):
            call()


def test_rollback(matchers):
    two = [matchers[1], matchers[3]]
    for text in ("12", "3"):
        assert BatchGrammarMatcher.batch_accept_string(two, [text, text]) == [True, True]
    BatchGrammarMatcher.batch_rollback(two)
    assert [matcher.num_steps for matcher in two] == [1, 1]
    for steps in ([0, 100], [0, -1], [1], 2):
        with pytest.raises(RuntimeError):
            BatchGrammarMatcher.batch_rollback(two, steps)
    assert [matcher.num_steps for matcher in two] == [1, 1]
    BatchGrammarMatcher.batch_rollback(two, [1, 0])
    assert [matcher.num_steps for matcher in two] == [0, 1]


@pytest.mark.parametrize("threads", [0, -1, "x", None, 1.5])
def test_thread_counts(threads):
    with pytest.raises(RuntimeError):
        BatchGrammarMatcher(threads)
