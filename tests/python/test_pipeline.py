"""grammask.pipeline: masks beside the forward pass, against the plain loop.

Nothing here measures time: that two things go on at once is shown by each waiting for the other.
"""

import asyncio
import concurrent.futures
import gc
import json
import random
import sys
import threading
import time

import numpy
import pytest

import grammask
from grammask import GrammarMatcher, GrammaskError
from grammask.pipeline import MaskPipeline
from grammask.pipeline.slots import CudaSlot, TokenCopy

GRAMMARS = [
    'root ::= "{" ("\\"ab\\": " [0-9]{1,3} | "\\"abc\\": true")? "}"',
    'root ::= ("true" | "false" | "null" ", " " name")',
    "root ::= [a-f0-9]{3,12}",
    'root ::= item{1,4}  item ::= "12" | "é" | "ab" | "\\n\\n"',
]
DEADLINE = 60  # seconds until a test gives up on something that must come


def logits_of(generator, rows, size):
    return generator.standard_normal((rows, size)).astype(numpy.float32)


@pytest.fixture
def grammars(compiler):
    return [compiler.compile_grammar(text) for text in GRAMMARS]


class Held:
    """Tokens that come when they are let go: until then the step that waits for them is at work."""

    def __init__(self, tokens=None):
        self.tokens, self.asked, self.go_on = tokens, threading.Event(), threading.Event()

    def __call__(self):
        self.asked.set()
        assert self.go_on.wait(DEADLINE)
        return self.tokens


def plain_loop(schedule, grammars, size, seed):
    """Texts by accept, fill, apply, one after another; schedule: the rows of each step."""
    generator = numpy.random.default_rng(seed)
    matchers = {}
    texts = {}
    mask = numpy.zeros(grammask.get_bitmask_shape(1, size), dtype=numpy.int32)
    for rows in schedule:
        logits = logits_of(generator, len(rows), size)
        for row, name in zip(logits, rows):
            matcher = matchers.setdefault(name, GrammarMatcher(grammars[name % len(grammars)]))
            if name % 7 != 6 and not matcher.is_terminated():  # every seventh has no grammar
                matcher.fill_next_token_bitmask(mask)
                grammask.apply_token_bitmask_inplace(row, mask[0])
            token = int(row.argmax())
            texts.setdefault(name, []).append(token)
            if name % 7 != 6 and not matcher.is_terminated():
                assert matcher.accept_token(token)
    return texts


def make_schedule(seed):
    """Texts that come and go, now and then skip a step, and change places."""
    chooser = random.Random(seed)
    schedule, active, made = [], [], 0
    for _ in range(40):
        while len(active) < 6 and chooser.random() < 0.6:
            active.append(made)
            made += 1
        active = [name for name in active if chooser.random() > 0.05]
        rows = [name for name in active if chooser.random() > 0.1]
        chooser.shuffle(rows)
        schedule.append(rows)
    return schedule


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("with_torch", [False, True])
def test_the_same_tokens_as_the_plain_loop(grammars, tokens, seed, with_torch):
    schedule, size = make_schedule(seed), len(tokens)
    expected = plain_loop(schedule, grammars, size, seed)
    generator = numpy.random.default_rng(seed)
    requests, texts, sampled = {}, {}, {}
    with MaskPipeline(size, max_rows=6) as pipeline:
        for rows in schedule:
            for name in rows:
                if name not in requests:
                    grammar = None if name % 7 == 6 else grammars[name % len(grammars)]
                    requests[name] = pipeline.add(grammar)
            pipeline.begin([requests[n] for n in rows], [sampled.pop(n, None) for n in rows])
            logits = logits_of(generator, len(rows), size)
            if with_torch:
                pipeline.apply(pytest.importorskip("torch").from_numpy(logits))
            else:
                pipeline.apply(logits)
            for name, row in zip(rows, logits):
                sampled[name] = int(row.argmax())
                texts.setdefault(name, []).append(sampled[name])
    assert texts == expected


def test_results(grammars, tokens, stop):
    size = len(tokens)
    with MaskPipeline(size, max_rows=3) as pipeline:
        text, free = pipeline.add(grammars[1]), pipeline.add(None)
        pipeline.begin([text, free, None])
        results = pipeline.apply(numpy.zeros((3, size), numpy.float32))
        assert [r.request for r in results] == [text, free, None]
        assert [r.rows for r in results] == [range(0, 1), range(1, 2), range(2, 3)]
        assert [r.masked for r in results] == [True, False, False]
        true = tokens.index(b"true")
        pipeline.begin([free, text], [5, [true, stop, 3, 4]])  # those after the end do not count
        logits = numpy.zeros((2, size), numpy.float32)
        first, second = pipeline.apply(logits)
        assert (first.accepted, first.terminated) == (0, False)
        assert (second.accepted, second.terminated, second.masked) == (2, True, False)
        assert text.terminated and second.error is None and not logits.any()


# --- At the same time ---


def test_fill_and_forward_at_the_same_time(grammars, tokens):
    """Each step's masks are only begun when its forward pass has, and the forward pass ends only
    after they are there; one after the other, neither would."""
    size = len(tokens)
    filled = threading.Event()
    with MaskPipeline(size, max_rows=1, trace=100) as pipeline:
        request = pipeline.add(grammars[2])
        for index in range(5):
            filled.clear()
            held = Held([ord("a")] if index else None)
            step = pipeline.begin([request], held)
            step.add_done_callback(lambda _: filled.set())
            assert not step.done()
            held.go_on.set()  # the forward pass
            assert filled.wait(DEADLINE)
            assert step.done()
            assert pipeline.apply(numpy.zeros((1, size), numpy.float32))[0].masked
        spans = pipeline.spans()
    for index in range(5):
        times = {span.name: span for span in spans if span.step == index}
        assert set(times) == {"forward", "fill", "copy", "wait", "apply"}
        assert times["forward"].begin <= times["fill"].begin
        assert times["fill"].end <= times["forward"].end  # hidden
        assert len({times[name].lane for name in ("forward", "fill", "wait")}) == 3


def test_fills_need_no_gil(grammars, tokens):
    """Masks get done while this thread never lets another run Python."""
    size = len(tokens)
    before = sys.getswitchinterval()
    with MaskPipeline(size, max_rows=1) as pipeline:
        request = pipeline.add(grammars[2])
        pipeline.begin([request])
        pipeline.apply(numpy.zeros((1, size), numpy.float32))
        sys.setswitchinterval(1000)
        try:
            step = pipeline.begin([request], [ord("a")])
            deadline = time.perf_counter() + DEADLINE
            while not step._job.done():
                assert time.perf_counter() < deadline
        finally:
            sys.setswitchinterval(before)
        assert pipeline.apply(numpy.zeros((1, size), numpy.float32))[0].accepted == 1


def test_a_slow_fill_is_waited_for(grammars, tokens):
    size = len(tokens)
    held = Held()
    with MaskPipeline(size, max_rows=1) as pipeline:
        step = pipeline.begin([pipeline.add(grammars[1])], held)
        logits = numpy.zeros((1, size), numpy.float32)
        with pytest.raises(TimeoutError, match="step 0"):
            pipeline.apply(logits, timeout=0.01)
        assert not logits.any() and not step.done()  # nothing happened: it can be applied later
        threading.Timer(0.05, held.go_on.set).start()
        pipeline.apply(logits, step)
        assert numpy.isinf(logits).any()


def test_the_event_loop_goes_on(grammars, tokens):
    size = len(tokens)

    async def decode(pipeline):
        request, token, text = pipeline.add(grammars[2]), None, []
        generator = numpy.random.default_rng(3)
        for _ in range(3):
            held = Held([token])
            step = pipeline.begin([request], held)
            logits = logits_of(generator, 1, size)
            apply = asyncio.ensure_future(pipeline.apply_async(logits, step))
            for _ in range(20):  # the loop is free while the fill is held up
                await asyncio.sleep(0)
            assert not apply.done()
            held.go_on.set()
            results = await asyncio.wait_for(apply, DEADLINE)
            assert results[0].masked and results == await step
            token = int(logits.argmax())
            text.append(token)
        return text

    with MaskPipeline(size, max_rows=1) as pipeline:
        text = asyncio.run(decode(pipeline))
    matcher = GrammarMatcher(grammars[2])
    assert all(matcher.accept_token(token) for token in text)


def test_a_cancelled_waiter_leaves_the_step_alone(grammars, tokens):
    size = len(tokens)
    held = Held()

    async def give_up(pipeline, step):
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(pipeline.apply_async(numpy.zeros((1, size)), step), 0.01)

    with MaskPipeline(size, max_rows=1) as pipeline:
        step = pipeline.begin([pipeline.add(grammars[2])], held)
        asyncio.run(give_up(pipeline, step))
        held.go_on.set()
        assert pipeline.apply(numpy.zeros((1, size), numpy.float32), step)[0].masked


# --- Requests ---


def test_cancelled_under_way(grammars, tokens):
    size = len(tokens)
    held = Held([ord("a"), ord("b")])
    with MaskPipeline(size, max_rows=2) as pipeline:
        kept, dropped = pipeline.add(grammars[2]), pipeline.add(grammars[2])
        pipeline.begin([dropped, kept], held)
        assert held.asked.wait(DEADLINE)
        # The next step is begun with another text in the same row.
        new = pipeline.add(grammars[1])
        second = pipeline.begin([new, kept], [None, ord("c")])
        dropped.cancel()
        held.go_on.set()
        logits = numpy.zeros((2, size), numpy.float32)
        results = pipeline.apply(logits)
        assert [r.masked for r in results] == [False, True]
        assert not logits[0].any() and numpy.isinf(logits[1]).any()
        logits = numpy.zeros((2, size), numpy.float32)
        assert [r.request for r in pipeline.apply(logits, second)] == [new, kept]
        assert dropped.matcher.num_steps == 0 and kept.matcher.num_steps == 2
        assert numpy.flatnonzero(numpy.isfinite(logits[0])).tolist() == sorted(
            tokens.index(t) for t in (b"t", b"f", b"n", b"true", b"false", b"null"))  # fmt: skip
        with pytest.raises(GrammaskError, match=r"requests\[1\] was cancelled"):
            pipeline.begin([kept, dropped])


def test_cancelled_after_it_is_filled(grammars, tokens):
    """What came too late does no harm: the other rows are as usual."""
    size = len(tokens)
    with MaskPipeline(size, max_rows=2) as pipeline:
        kept, dropped = pipeline.add(grammars[2]), pipeline.add(grammars[2])
        step = pipeline.begin([dropped, kept])
        step.result(DEADLINE)
        dropped.cancel()
        logits = numpy.zeros((2, size), numpy.float32)
        assert pipeline.apply(logits, step)[1].masked and numpy.isinf(logits[1]).any()
        pipeline.begin([kept], [ord("a")])
        assert pipeline.apply(numpy.zeros((1, size), numpy.float32))[0].accepted == 1


def test_an_error_is_of_its_request_alone(grammars, tokens):
    size = len(tokens)
    with MaskPipeline(size, max_rows=3) as pipeline:
        good, bad, other = (pipeline.add(grammars[i]) for i in (2, 1, 2))
        pipeline.begin([good, bad, other], [ord("a"), ord("z"), ord("b")])
        logits = numpy.zeros((3, size), numpy.float32)
        results = pipeline.apply(logits)
        assert [r.masked for r in results] == [True, False, True]
        assert "refuses token 122 after 0 tokens" in str(results[1].error)
        assert bad.error is results[1].error and good.error is None
        assert not logits[1].any() and numpy.isinf(logits[[0, 2]]).any(axis=1).all()
        # It stays failed; the others go on.
        pipeline.begin([bad, good], [ord("t"), ord("b")])
        results = pipeline.apply(numpy.zeros((2, size), numpy.float32))
        assert results[0].error is bad.error and results[1].accepted == 1


def test_a_grammar_that_is_still_being_compiled(grammars, compiler, tokens):
    size = len(tokens)
    coming, failing, foreign = (concurrent.futures.Future() for _ in range(3))
    with MaskPipeline(size, max_rows=4) as pipeline:
        requests = [pipeline.add(f) for f in (coming, failing, foreign)] + [pipeline.add(None)]
        pipeline.begin(requests, [[ord("t"), ord("r")], None, None, None])  # a text taken up again
        logits = numpy.zeros((4, size), numpy.float32)
        results = pipeline.apply(logits)
        assert [r.late for r in results] == [True, True, True, False] and not logits.any()
        assert [r.error for r in results] == [None] * 4
        coming.set_result(grammars[1])
        failing.set_exception(grammask.SchemaError("no such thing"))
        other = grammask.TokenizerInfo(["a", "b"])
        foreign.set_result(grammask.GrammarCompiler(other).compile_grammar('root ::= "a"'))
        pipeline.begin(requests)
        results = pipeline.apply(logits)
        assert [r.late for r in results] == [False] * 4
        assert results[0].accepted == 2 and set(numpy.flatnonzero(logits[0] == 0)) == {ord("u")}
        assert isinstance(results[1].error, grammask.SchemaError)
        assert "2 tokens" in str(results[2].error)


def test_matchers_and_options(grammars, compiler, tokens, stop):
    size = len(tokens)
    matcher = GrammarMatcher(grammars[1])
    matcher.accept_string("fal")
    with MaskPipeline(size, max_rows=3) as pipeline:
        requests = [
            pipeline.add(matcher),
            pipeline.add(grammars[1], override_stop_tokens=[7]),
            pipeline.add(grammars[1], terminate_without_stop_token=True),
        ]
        true = tokens.index(b"true")
        pipeline.begin(requests, [None, true, true])
        logits = numpy.zeros((3, size), numpy.float32)
        results = pipeline.apply(logits)
        allowed = [set(numpy.flatnonzero(row == 0).tolist()) for row in logits]
        assert allowed[:2] == [{ord("s")}, {7}]
        assert [r.terminated for r in results] == [False, False, True]
        other = grammask.GrammarCompiler(grammask.TokenizerInfo(["a", "b"]))
        with pytest.raises(GrammaskError, match="compiled for 2 tokens"):
            pipeline.add(other.compile_grammar('root ::= "a"'))


# --- Drafts ---


def expected_rows(matcher, drafts, size):
    """Masks after each prefix of drafts that the grammar takes, by accept and rollback; None for
    those after a refused draft or the end."""
    rows, taken = [], 0
    for depth in range(len(drafts) + 1):
        if depth > taken or matcher.is_terminated():
            rows.append(None)
            continue
        row = numpy.zeros(grammask.get_bitmask_shape(1, size)[1], dtype=numpy.int32)
        matcher.fill_next_token_bitmask(row)
        rows.append(row)
        if depth < len(drafts) and matcher.accept_token(drafts[depth]):
            taken += 1
    matcher.rollback(taken)
    return rows, taken


@pytest.mark.parametrize("seed", range(3))
def test_drafts(grammars, tokens, stop, seed):
    size, chooser = len(tokens), random.Random(seed)
    with MaskPipeline(size, max_rows=40) as pipeline:
        requests = [pipeline.add(grammars[i % 4]) for i in range(7)] + [None]
        twins = [GrammarMatcher(grammars[i % 4]) for i in range(7)]
        sampled = [[] for _ in requests]
        for _ in range(12):
            drafts = [propose(twin, chooser, size, stop) for twin in twins] + [[1, 2]]
            step = pipeline.begin(requests, sampled, drafts)
            logits = numpy.zeros((step.rows, size), numpy.float32)
            results = pipeline.apply(logits)
            assert [r.rows.stop for r in results][-1] == step.rows
            for i, (twin, result) in enumerate(zip(twins, results)):
                if twin.is_terminated():
                    assert not result.masked and not logits[result.rows].any()
                    sampled[i] = []
                    continue
                rows, taken = expected_rows(twin, drafts[i], size)
                assert (result.masked, result.drafts, result.error) == (True, taken, None)
                assert requests[i].matcher.num_steps == twin.num_steps  # rolled back
                for row, expected in zip(result.rows, rows):
                    wanted = numpy.zeros((1, size), numpy.float32)
                    if expected is not None:
                        grammask.apply_token_bitmask_inplace(wanted, expected)
                    assert (logits[row] == wanted).all()
                # Some of the drafts are confirmed, and one more token sampled.
                kept = chooser.randint(0, taken)
                sampled[i] = drafts[i][:kept]
                if rows[kept] is not None:
                    open_ids = numpy.flatnonzero(logits[result.rows[kept]] == 0).tolist()
                    sampled[i] = sampled[i] + [chooser.choice(open_ids)]
                assert all(twin.accept_token(token) for token in sampled[i])
        assert any(twin.is_terminated() for twin in twins)


def propose(matcher, chooser, size, stop):
    """Drafts that are right for a while, and then maybe not."""
    drafts, twin = [], matcher.fork()
    mask = numpy.zeros(grammask.get_bitmask_shape(1, size), dtype=numpy.int32)
    for _ in range(chooser.randint(0, 4)):
        if twin.is_terminated() or chooser.random() < 0.15:
            drafts.append(chooser.randrange(size))
            continue
        twin.fill_next_token_bitmask(mask)
        bits = numpy.unpackbits(mask.view(numpy.uint8), bitorder="little")[:size]
        drafts.append(chooser.choice(numpy.flatnonzero(bits).tolist()))
        twin.accept_token(drafts[-1])
    return drafts


# --- Kinds of tokens ---


def test_kinds_of_tokens(grammars, tokens):
    torch = pytest.importorskip("torch")
    size, a, b = len(tokens), ord("a"), ord("b")
    with MaskPipeline(size, max_rows=2) as pipeline:
        for given, counts in (
            ([a, b], [1, 1]),
            ((a, None), [1, 0]),
            ([[a, b, a], -1], [3, 0]),
            (numpy.array([a, -1]), [1, 0]),
            (torch.tensor([[a, b], [b, -1]]), [2, 1]),
            (lambda: [a, [b, b]], [1, 2]),
            (lambda: torch.tensor([a, b]), [1, 1]),
            ([numpy.int64(a), torch.tensor([b])], [1, 1]),
            ([numpy.array([[a]])[0], torch.tensor(b)], [1, 1]),
            ([(a, a), [numpy.int32(b)] * 3], [2, 3]),
        ):
            requests = [pipeline.add(grammars[2]) for _ in range(2)]
            pipeline.begin(requests, given)
            results = pipeline.apply(numpy.zeros((2, size), numpy.float32))
            assert [r.accepted for r in results] == counts


def test_tokens_that_never_come(grammars, tokens):
    """What goes wrong with a whole step is raised by apply, and the next step is as usual."""
    size = len(tokens)

    def fail():
        raise KeyError("no tokens")

    with MaskPipeline(size, max_rows=1, buffers=1) as pipeline:
        request = pipeline.add(grammars[2])
        logits = numpy.zeros((1, size), numpy.float32)
        for tokens_given, error in (
            (fail, KeyError),
            (lambda: [1, 2], GrammaskError),
            (lambda: ["a"], TypeError),
        ):
            pipeline.begin([request], tokens_given)
            with pytest.raises(error):
                pipeline.apply(logits)
            assert not logits.any() and request.matcher.num_steps == 0
        for tokens_given in (["a"], [[1.5]], [object()]):
            with pytest.raises(TypeError):
                pipeline.begin([request], tokens_given)
        pipeline.begin([request], [ord("a")])
        assert pipeline.apply(logits)[0].accepted == 1


def test_tokens_that_are_none(grammars, tokens):
    """Ids that no token has are refused, whatever their size; the other rows go on."""
    size = len(tokens)
    for wrong in (size, 1 << 31, 1 << 40, 1 << 70, -2, -(1 << 70)):
        with MaskPipeline(size, max_rows=2) as pipeline:
            pipeline.begin([pipeline.add(grammars[2]) for _ in range(2)], [wrong, ord("a")])
            results = pipeline.apply(numpy.zeros((2, size), numpy.float32))
            assert results[0].error is not None and results[1].accepted == 1


# --- Steps and buffers ---


def test_two_batches_in_turn(grammars, tokens):
    size = len(tokens)
    with MaskPipeline(size, max_rows=1) as pipeline:
        texts = [[], []]
        requests = [pipeline.add(grammars[2]), pipeline.add(grammars[0])]
        steps = [pipeline.begin([request]) for request in requests]
        generator = numpy.random.default_rng(1)
        while not all(request.terminated for request in requests):
            for i, request in enumerate(requests):
                logits = logits_of(generator, 1, size)
                pipeline.apply(logits, steps[i])
                if not request.terminated:
                    texts[i].append(int(logits.argmax()))
                steps[i] = pipeline.begin([request], [texts[i][-1]])
        assert [len(text) >= 3 for text in texts] == [True, True]
    for text, grammar in zip(texts, (grammars[2], grammars[0])):
        matcher = GrammarMatcher(grammar)
        assert all(matcher.accept_token(token) for token in text) and matcher.is_terminated()


def test_as_many_steps_as_buffers(grammars, tokens):
    size = len(tokens)
    with MaskPipeline(size, max_rows=1, buffers=3) as pipeline:
        request = pipeline.add(grammars[2])
        steps = [pipeline.begin([request]) for _ in range(3)]
        with pytest.raises(GrammaskError, match="3 steps are under way"):
            pipeline.begin([request])
        pipeline.discard(steps[1])
        with pytest.raises(GrammaskError, match="step 1 is not under way"):
            pipeline.apply(numpy.zeros((1, size), numpy.float32), steps[1])
        logits = numpy.zeros((1, size), numpy.float32)
        pipeline.apply(logits)
        with pytest.raises(GrammaskError, match="step 0 is not under way"):
            pipeline.discard(steps[0])
        pipeline.begin([request], [ord("a")])


@pytest.mark.parametrize("cut", [1, 32, 100, 255])
def test_shards(grammars, tokens, cut):
    """Each rank has a pipeline and its own columns."""
    size = len(tokens)
    whole = numpy.zeros((1, size), numpy.float32)
    with MaskPipeline(size, max_rows=1) as pipeline:
        request = pipeline.add(grammars[3])
        pipeline.begin([request])
        pipeline.apply(whole)
        for first, last in ((0, cut), (cut, size)):
            pipeline.begin([request])
            part = numpy.zeros((1, last - first), numpy.float32)
            pipeline.apply(part, vocab_offset=first)
            assert (part == whole[:, first:last]).all()
        step = pipeline.begin([request])
        for columns, offset in ((size, 1), (size + 1, 0), (1, -1)):
            with pytest.raises(GrammaskError, match="vocab_size"):
                pipeline.apply(numpy.zeros((1, columns), numpy.float32), vocab_offset=offset)
        pipeline.discard(step)


def test_masks_for_another_kernel(grammars, tokens):
    """The bitmask itself, as the fused samplers take it."""
    size = len(tokens)
    generator = numpy.random.default_rng(4)
    with MaskPipeline(size, max_rows=4, buffers=1, trace=20) as pipeline:
        requests = [pipeline.add(g) for g in grammars[1:]] + [None]
        step = pipeline.begin(requests)
        pipeline.apply(logits_of(generator, 4, size))
        pipeline.begin([None, *requests[:3]])
        logits = logits_of(generator, 4, size)
        with pipeline.masks() as (bitmask, results):
            assert tuple(bitmask.shape) == grammask.get_bitmask_shape(4, size)
            assert [r.masked for r in results] == [False, True, True, True]
            chosen = grammask.masked_argmax(logits, bitmask)
        pipeline.begin([None, *requests[:3]])
        pipeline.apply(logits)
        assert chosen.tolist() == logits.argmax(-1).tolist()
        # An error inside ends the step too.
        step = pipeline.begin(requests)
        with pytest.raises(KeyError):
            with pipeline.masks(step):
                raise KeyError
        pipeline.begin(requests)
        with pytest.raises(GrammaskError, match="not under way"):
            with pipeline.masks(step):
                pass


def test_no_rows(tokens):
    with MaskPipeline(len(tokens), max_rows=1) as pipeline:
        pipeline.begin([])
        assert pipeline.apply(numpy.zeros((0, len(tokens)), numpy.float32)) == []


def test_nothing_of_an_earlier_step_is_left(grammars, tokens):
    """A row that was masked is all ones when its next text has no grammar."""
    size = len(tokens)
    with MaskPipeline(size, max_rows=2, buffers=1) as pipeline:
        for requests in ([pipeline.add(grammars[1]), pipeline.add(grammars[1])],
                         [None, pipeline.add(grammars[2])]):  # fmt: skip
            pipeline.begin(requests)
            logits = numpy.zeros((2, size), numpy.float32)
            pipeline.apply(logits)
        assert not logits[0].any() and numpy.isinf(logits[1]).any()


def test_unsuitable_arguments(grammars, tokens):
    size = len(tokens)
    for options in ({"max_rows": 0}, {"max_rows": 1, "buffers": 0}, {"max_rows": 1, "trace": -1},
                    {"max_rows": 1, "device": "mps"}):  # fmt: skip
        with pytest.raises(GrammaskError):
            MaskPipeline(size, **options)
    with MaskPipeline(size, max_rows=2) as pipeline:
        request = pipeline.add(grammars[2])
        with pytest.raises(GrammaskError, match="no step is under way"):
            pipeline.apply(numpy.zeros((1, size), numpy.float32))
        for arguments, message in (
            (([request, request],), r"requests\[1\] is also requests\[0\]"),
            (([request, 5],), r"requests\[1\] is int"),
            (([request], [1, 2]), "tokens for 2"),
            (([request], None, [[1], [2]]), "drafts for 2"),
            (([request], None, [[1, 2]]), "max_rows is 2"),
        ):
            with pytest.raises(GrammaskError, match=message):
                pipeline.begin(*arguments)
        step = pipeline.begin([request])
        for logits, message in (
            (numpy.zeros((2, size), numpy.float32), "needs \\(1, columns\\)"),
            (numpy.zeros(size, numpy.float32), "needs \\(1, columns\\)"),
            (numpy.zeros((1, size + 1), numpy.float32), "vocab_size"),
            (numpy.zeros((1, size), numpy.int32), "float32"),
        ):
            with pytest.raises(GrammaskError, match=message):
                pipeline.apply(logits)
            assert not logits.any()
        pipeline.apply(numpy.zeros((1, size), numpy.float32), step)  # still under way
        with pytest.raises(GrammaskError, match="no trace"):
            pipeline.write_trace("x")
        with pytest.raises(GrammaskError, match="trace=10000"):
            pipeline.spans()
    with pytest.raises(GrammaskError, match="closed"):
        pipeline.begin([request])


def test_the_thread_ends_with_the_pipeline(grammars, tokens):
    pipeline = MaskPipeline(len(tokens), max_rows=1)
    pipeline.begin([pipeline.add(grammars[2])]).result(DEADLINE)
    thread = pipeline._thread
    assert thread.is_alive()
    del pipeline
    gc.collect()
    thread.join(DEADLINE)
    assert not thread.is_alive()


def test_trace(grammars, tokens, tmp_path):
    size = len(tokens)
    with MaskPipeline(size, max_rows=1, trace=50) as pipeline:
        request = pipeline.add(grammars[2])
        for _ in range(30):
            pipeline.begin([request])
            pipeline.apply(numpy.zeros((1, size), numpy.float32))
        pipeline.write_trace(tmp_path / "trace.json")
    with open(tmp_path / "trace.json", encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    spans = [e for e in events if e["ph"] == "X"]
    assert len(spans) == 50  # the newest, whatever came before
    assert max(e["args"]["step"] for e in spans) == 29
    assert min(e["args"]["step"] for e in spans) > 15
    assert {e["name"] for e in spans} == {"forward", "fill", "copy", "wait", "apply"}
    assert all(e["dur"] >= 0 for e in spans)
    names = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M"}
    assert set(names) == {e["tid"] for e in spans}
    assert {"forward pass", "grammask fill"} < set(names.values())


# --- CUDA, by a stand-in that notes what is called, and on a GPU where there is one ---


class FakeTorch:
    """As much of torch as slots use; every call is noted in `calls`."""

    int32 = "int32"

    def __init__(self):
        self.calls = calls = []
        self.current = FakeStream(calls, "current")
        fake = self

        class Cuda:
            @staticmethod
            def current_stream(device):
                return fake.current

            @staticmethod
            def Event():
                return FakeEvent(calls)

            @staticmethod
            def device(device):
                return Scope(calls, f"device {device}")

            @staticmethod
            def stream(stream):
                return Scope(calls, f"stream {stream.name}")

        self.cuda = Cuda

    def empty(self, shape, dtype=None, device=None, pin_memory=False):
        return FakeArray(self.calls, "pinned" if pin_memory else "device")


class FakeStream:
    def __init__(self, calls, name):
        self.calls, self.name = calls, name

    def wait_stream(self, other):
        self.calls.append(f"{self.name} waits for {other.name}")

    def wait_event(self, event):
        self.calls.append(f"{self.name} waits for {event.recorded}")


class FakeEvent:
    def __init__(self, calls):
        self.calls, self.recorded, self.over = calls, None, False

    def record(self, stream):
        self.recorded = f"{stream.name} at {len(self.calls)}"
        self.calls.append(f"record {self.recorded}")

    def query(self):
        return self.over

    def synchronize(self):
        assert self.recorded is not None
        self.calls.append(f"host waits for {self.recorded}")


class FakeArray:
    shape, dtype, device = (2,), "int64", "cuda:0"

    def __init__(self, calls, name):
        self.calls, self.name = calls, name

    def __getitem__(self, key):
        return self

    def copy_(self, other, non_blocking=False):
        self.calls.append(f"{self.name} = {other.name}" + ("" if non_blocking else ", blocking"))

    def record_stream(self, stream):
        self.calls.append(f"{self.name} is kept for {stream.name}")

    def tolist(self):
        return [4, 5]


class Scope:
    def __init__(self, calls, name):
        self.calls, self.name = calls, name

    def __enter__(self):
        self.calls.append(f"enter {self.name}")

    def __exit__(self, *_):
        self.calls.append(f"leave {self.name}")


def test_order_of_cuda_calls():
    torch = FakeTorch()
    side = FakeStream(torch.calls, "side")
    slot = CudaSlot(torch, "cuda:0", side, 8, 100)
    assert torch.calls == ["side waits for current", "device is kept for side"]
    assert slot.ready()

    def one_step():
        torch.calls.clear()
        slot.reuse()
        slot.send(3)
        slot.receive(3)
        slot.applied()
        return [c for c in torch.calls if not c.startswith(("enter", "leave"))], list(torch.calls)

    calls, everything = one_step()
    assert everything[:2] == ["enter device cuda:0", "enter stream side"]
    assert calls == [
        "device = pinned",
        "record side at 3",
        "current waits for side at 3",
        "device is kept for current",
        "record current at 8",
    ]
    calls, _ = one_step()
    assert calls[:3] == [
        "host waits for side at 3",  # the pinned memory has been read
        "side waits for current at 8",  # the device's has been applied
        "device = pinned",
    ]
    assert not slot.ready()  # a copy from it is under way: begin() must not wait
    slot._copied.over = True
    assert slot.ready()
    # A step that was discarded: nobody applied it, and the copy must be over all the same.
    torch.calls.clear()
    slot.reuse()
    slot.send(3)
    slot.reuse()
    assert torch.calls[-1].startswith("host waits for side")


def test_tokens_from_a_cuda_device():
    torch = FakeTorch()
    coming = TokenCopy(torch, FakeArray(torch.calls, "tokens"))
    assert torch.calls == ["pinned = tokens", "record current at 1"]  # nothing waits
    assert coming() == [4, 5]
    assert torch.calls[2:] == ["host waits for current at 1"]


def test_no_cuda_here(tokens):
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device here")
    with pytest.raises(GrammaskError, match="no CUDA device"):
        MaskPipeline(len(tokens), max_rows=1, device="cuda")


@pytest.mark.gpu
@pytest.mark.parametrize("seed", range(3))
def test_on_a_gpu(grammars, tokens, seed):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    schedule, size = make_schedule(seed), len(tokens)
    expected = plain_loop(schedule, grammars, size, seed)
    generator = numpy.random.default_rng(seed)
    requests, texts, sampled = {}, {}, {}
    side = torch.cuda.Stream()
    with MaskPipeline(size, max_rows=6, device="cuda") as pipeline, torch.cuda.stream(side):
        for rows in schedule:
            for name in rows:
                grammar = None if name % 7 == 6 else grammars[name % len(grammars)]
                requests.setdefault(name, None)
                requests[name] = requests[name] or pipeline.add(grammar)
            given = [sampled.pop(n, torch.tensor(-1, device="cuda")) for n in rows]
            given = torch.stack(given) if given else None
            pipeline.begin([requests[n] for n in rows], given)
            logits = torch.from_numpy(logits_of(generator, len(rows), size)).cuda()
            pipeline.apply(logits)
            for name, token in zip(rows, logits.argmax(-1)):
                sampled[name] = token
                texts.setdefault(name, []).append(token)
    texts = {name: [int(token) for token in text] for name, text in texts.items()}
    assert texts == expected
