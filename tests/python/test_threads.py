"""Threads: matchers side by side, one matcher from two threads, and the GIL."""

import threading

import numpy
import pytest

import grammask
from conftest import allowed_ids

SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": "array", "items": {"enum": ["x", "yy", 3]}},
        "b": {"type": "string", "pattern": "^[a-f]{2,9}$"},
    },
    "required": ["a", "b"],
}
DOCUMENT = '{"a": ["x", 3, "yy"], "b": "abcdef"}'


def run_threads(work, count):
    errors = []

    def guarded(number):
        try:
            work(number)
        except BaseException as error:  # pylint: disable=broad-except
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors[0]


def test_many_matchers_on_many_threads(tokenizer_info, tokens):
    # The reference comes from a compilation of its own, so that the threads find nothing made.
    reference = grammask.GrammarMatcher(
        grammask.GrammarCompiler(tokenizer_info, cache_enabled=False).compile_json_schema(SCHEMA)
    )
    expected = []
    for character in DOCUMENT:
        expected.append(allowed_ids(reference, len(tokens)))
        assert reference.accept_string(character)
    compiled = grammask.GrammarCompiler(tokenizer_info).compile_json_schema(SCHEMA)
    mask = numpy.zeros(grammask.get_bitmask_shape(4, len(tokens)), dtype=numpy.int32)

    def work(number):
        for _ in range(10):
            matcher = grammask.GrammarMatcher(compiled)
            for position, character in enumerate(DOCUMENT):
                matcher.fill_next_token_bitmask(mask, number)
                bits = numpy.unpackbits(mask[number].view(numpy.uint8), bitorder="little")
                found = set(numpy.flatnonzero(bits[: len(tokens)]).tolist())
                assert found == expected[position], position
                assert matcher.accept_string(character)
            assert matcher.is_completed()

    run_threads(work, 4)


def test_one_matcher_from_many_threads_is_refused_not_broken(compiler, tokens):
    matcher = grammask.GrammarMatcher(compiler.compile_json_schema(SCHEMA))
    shape = grammask.get_bitmask_shape(1, len(tokens))

    def work(number):
        mask = numpy.zeros(shape, dtype=numpy.int32)
        for _ in range(2000):
            try:
                matcher.fill_next_token_bitmask(mask)
                matcher.accept_string("{")
                matcher.reset()
            except grammask.GrammaskError as error:
                assert "in use by another thread" in str(error)

    run_threads(work, 4)
    matcher.reset()
    assert matcher.accept_string(DOCUMENT)


def test_precompute_lets_other_threads_run(tokenizer_info):
    compiled = grammask.GrammarCompiler(tokenizer_info).compile_json_schema(SCHEMA)
    seen = []
    compiled.precompute(2, progress=lambda done, found: seen.append((done, found)))
    assert all(done <= found for done, found in seen)


def test_progress_errors_reach_the_caller(tokenizer_info):
    compiled = grammask.GrammarCompiler(tokenizer_info).compile_json_schema(SCHEMA)
    calls = []

    def fail(done, found):
        calls.append(done)
        raise KeyError("stop")

    try:
        compiled.precompute(1, progress=fail)
    except KeyError:
        assert calls
    else:
        assert not calls  # so few states that no progress was due


def test_batches_on_many_threads(compiler, tokens):
    compiled = compiler.compile_json_schema(SCHEMA)
    batch = grammask.BatchGrammarMatcher(2)

    def work(number):
        matchers = [grammask.GrammarMatcher(compiled) for _ in range(8)]
        mask = numpy.zeros(grammask.get_bitmask_shape(8, len(tokens)), dtype=numpy.int32)
        for character in DOCUMENT:
            batch.batch_fill_next_token_bitmask(matchers, mask)
            assert (mask == mask[0]).all()
            results = batch.batch_accept_string(matchers, [character] * 8)
            assert results == [True] * 8

    run_threads(work, 3)
