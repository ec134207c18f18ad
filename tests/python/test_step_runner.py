"""grammask._core.StepRunner: decoding steps on a thread of their own. What steps do is tested by
tests/matcher/batch_test.cc and test_pipeline.py; here it is what they hold, refuse and give back.
"""

import gc
import threading

import numpy
import pytest

import grammask
from grammask._core import StepRunner
from conftest import allowed_ids


@pytest.fixture
def batch():
    return grammask.BatchGrammarMatcher(2)


@pytest.fixture
def mask(tokens):
    return numpy.full(grammask.get_bitmask_shape(6, len(tokens)), 77, dtype=numpy.int32)


def allowed(mask_row, size):
    bits = numpy.unpackbits(mask_row.view(numpy.uint8), bitorder="little")[:size]
    return set(numpy.flatnonzero(bits).tolist())


def test_a_step(batch, matcher_of, mask, tokens):
    matchers = [matcher_of('root ::= "abc"'), None, matcher_of("root ::= [0-9]+")]
    job = StepRunner(batch).begin(matchers, [ord("a"), 5, None], [None, None, [ord("7")]], [1, 0, 4], mask)
    assert job.wait() and job.done()
    assert job.results() == [(1, 0, 1, False, None), (0, 0, 0, False, None), (0, 1, 2, False, None)]
    begun, ended = job.times()
    assert 0 < begun <= ended
    assert (mask[0] == -1).all() and (mask[[2, 3]] == 77).all()
    assert allowed(mask[1], len(tokens)) == allowed_ids(matchers[0], len(tokens))
    assert allowed(mask[4], len(tokens)) == allowed_ids(matchers[2], len(tokens))
    assert matchers[2].num_steps == 0
    matchers[2].accept_token(ord("7"))
    assert allowed(mask[5], len(tokens)) == allowed_ids(matchers[2], len(tokens))


def test_matchers_are_busy_until_the_results_are_read(batch, matcher_of, mask):
    matcher = matcher_of("root ::= [0-9]+")
    runner = StepRunner(batch)
    job = runner.begin([matcher], None, None, [0], mask)
    job.wait()
    for call in (matcher.is_terminated, lambda: runner.begin([matcher], None, None, [1], mask)):
        with pytest.raises(grammask.GrammaskError, match="in use"):
            call()
    job.results()
    assert not matcher.is_terminated()
    job.results()  # again
    del job
    # A job that nobody asks gives them back when it goes.
    runner.begin([matcher], [[1 << 40]], None, [0], mask)
    gc.collect()
    assert matcher.num_steps == 0


def test_errors_of_a_row_are_exceptions(batch, matcher_of, mask):
    matchers = [matcher_of("root ::= [0-9]+"), matcher_of("root ::= [0-9]+")]
    results = StepRunner(batch).begin(matchers, [ord("x"), ord("1")], None, [0, 1], mask).results()
    error = results[0][4]
    assert isinstance(error, grammask.GrammaskError) and error.code == "failed_precondition"
    assert results[1] == (1, 0, 1, False, None)


def test_what_does_not_fit_does_nothing(batch, matcher_of, mask, tokens):
    one, two = matcher_of("root ::= [0-9]+"), matcher_of("root ::= [0-9]+")
    other = grammask.GrammarMatcher(
        grammask.GrammarCompiler(grammask.TokenizerInfo(["a"] * 1000)).compile_regex("a")
    )
    one_id = [ord("1")]
    runner = StepRunner(batch)
    readonly = mask.copy()
    readonly.flags.writeable = False
    for error, arguments in (
        (TypeError, ((one,), one_id, None, [0], mask)),
        (TypeError, (["a"], one_id, None, [0], mask)),
        (TypeError, ([one], ["a"], None, [0], mask)),
        (TypeError, ([one], [1.5], None, [0], mask)),
        (TypeError, ([one], [[None]], None, [0], mask)),
        (TypeError, ([one], one_id, None, [0], "mask")),
        (TypeError, ([one], one_id, None, None, mask)),
        (RuntimeError, ([one], [1, 2], None, [0], mask)),
        (RuntimeError, ([one], one_id, [], [0], mask)),
        (RuntimeError, ([one], one_id, None, [0, 1], mask)),
        (RuntimeError, ([one], one_id, None, ["a"], mask)),
        (RuntimeError, ([one, one], one_id * 2, None, [0, 1], mask)),
        (RuntimeError, ([one], one_id, None, [6], mask)),
        (RuntimeError, ([one], one_id, None, [-1], mask)),
        (RuntimeError, ([one], one_id, [[1]], [5], mask)),
        (RuntimeError, ([one, two], one_id * 2, [[1], None], [0, 1], mask)),
        (RuntimeError, ([one, other], one_id * 2, None, [0, 1], mask)),
        (RuntimeError, ([one], one_id, None, [0], mask[:, 1:])),
        (RuntimeError, ([one], one_id, None, [0], mask.astype(numpy.int64))),
        (RuntimeError, ([one], one_id, None, [0], readonly)),
    ):
        with pytest.raises(error):
            runner.begin(*arguments).results()
        assert one.num_steps == two.num_steps == 0 and (mask == 77).all()
    with pytest.raises(TypeError):
        StepRunner("batch")
    assert runner.begin([one], one_id, None, [0], mask).results()[0][:3] == (1, 0, 1)


def test_steps_keep_their_order_and_outlive_their_runner(batch, matcher_of, tokens):
    size = len(tokens)
    for _ in range(4):
        runner = StepRunner(batch)
        chains = []
        for k in range(8):
            mask = numpy.zeros(grammask.get_bitmask_shape(50, size), dtype=numpy.int32)
            matchers = [matcher_of("root ::= [0-9]{3,50}") for _ in range(50)]
            chains.append((runner.begin(matchers, [[ord("1")] * k] * 50, None, list(range(50)), mask), k))
        del runner
        gc.collect()
        ends = [job.times()[1] for job, _ in chains]
        assert ends == sorted(ends)
        for job, k in chains:
            assert job.results() == [(k, 0, 1, False, None)] * 50


def test_runners_of_one_batch_on_many_threads(batch, matcher_of, tokens):
    errors = []

    def work():
        try:
            runner = StepRunner(batch)
            matchers = [matcher_of("root ::= [0-9]{3,50}") for _ in range(10)]
            mask = numpy.zeros(grammask.get_bitmask_shape(10, len(tokens)), dtype=numpy.int32)
            for _ in range(30):
                job = runner.begin(matchers, [ord("1")] * 10, None, list(range(10)), mask)
                assert job.results() == [(1, 0, 1, False, None)] * 10
                assert (mask == mask[0]).all()
        except BaseException as error:  # pylint: disable=broad-except
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors[0]
