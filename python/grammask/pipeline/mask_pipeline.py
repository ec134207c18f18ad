"""MaskPipeline: the loop's side of making masks beside the forward pass. `grammask.pipeline` says
what it does; rows.py is what becomes of the requests, slots.py the memory of the masks.

Steps are run by a StepRunner, on a thread that needs no GIL. A second thread, in Python, waits for
each: it starts the copy to the device and wakes whoever waits. It also starts steps whose tokens
are still to come, or that come while the step before is still at work; others start in begin().
"""

from __future__ import annotations

import asyncio
import collections
import concurrent.futures
import contextlib
import queue
import sys
import threading
import time
import weakref
from typing import Any, Deque, Iterator, List, Optional, Sequence, Tuple, Union

from .._core import BatchGrammarMatcher, StepRunner
from ..bitmask import apply_token_bitmask_inplace
from ..exception import GrammaskError
from .rows import RowTokens, check_count, finish, ids_of, start
from .slots import TokenCopy, make_slots
from .step import Grammar, Request, RowResult, Step
from .trace import Span, Trace


class MaskPipeline:
    """Fills masks for a batch of texts while a forward pass runs. See grammask.pipeline.

    MaskPipeline(vocab_size, *, max_rows, device="cpu", batch_matcher=None, buffers=2, trace=0)

    vocab_size: of the grammars, and columns of the logits.
    max_rows: most rows of a step: one for each request and one for each draft.
    device: where the logits are: "cpu", or a CUDA device ("cuda", "cuda:1", a torch.device).
    batch_matcher: the BatchGrammarMatcher that fills; by default one of its own.
    buffers: how many steps may be under way (begun and neither applied nor discarded). Two suit one
        batch, or two batches in turn.
    trace: how many spans to keep for write_trace(); 0: none are recorded.

    add, Request.cancel and waiting for steps are thread-safe; begin, apply, masks and discard belong
    to one thread (that of the decoding loop). The results are those of the plain loop: accept, fill,
    apply, one after another.
    """

    def __init__(
        self,
        vocab_size: int,
        *,
        max_rows: int,
        device: Any = "cpu",
        batch_matcher: Optional[BatchGrammarMatcher] = None,
        buffers: int = 2,
        trace: int = 0,
    ) -> None:
        for name, value, least in (
            ("vocab_size", vocab_size, 1),
            ("max_rows", max_rows, 1),
            ("buffers", buffers, 1),
            ("trace", trace, 0),
        ):
            if value < least:
                raise GrammaskError(f"{name} is {value}; it must be at least {least}")
        self.vocab_size = vocab_size
        self.max_rows = max_rows
        self._runner = StepRunner(
            BatchGrammarMatcher() if batch_matcher is None else batch_matcher
        )
        self._trace = Trace(trace) if trace else None
        slots, self._device = make_slots(buffers, max_rows, vocab_size, device)
        self._free: Deque[Any] = collections.deque(slots)
        self._buffers = buffers
        self._under_way: Deque[Step] = collections.deque()
        self._last: Optional[Step] = None
        self._steps = 0
        self._work: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
        self._thread: Optional[threading.Thread] = None
        self._close = weakref.finalize(self, self._work.put, None)

    # --- Requests ---

    def add(
        self,
        grammar: Grammar,
        *,
        override_stop_tokens: Optional[Union[List[int], int]] = None,
        terminate_without_stop_token: bool = False,
    ) -> Request:
        """A new text.

        grammar: a CompiledGrammar; a GrammarMatcher in any state (it then belongs to the pipeline);
            a concurrent.futures.Future of one of these, for a grammar that is still being compiled;
            or None for a text without a grammar. If the future fails, the request fails.
        override_stop_tokens, terminate_without_stop_token: as of GrammarMatcher, for one made here.

        Raises GrammaskError for a grammar of another vocabulary.
        """
        options = {
            "override_stop_tokens": override_stop_tokens,
            "terminate_without_stop_token": terminate_without_stop_token,
        }
        request = Request(grammar, options)
        if not isinstance(grammar, concurrent.futures.Future):
            request._prepare()
            self._check_vocabulary(request)
        return request

    def _check_vocabulary(self, request: Request) -> None:
        if request.matcher is None:
            return
        size = request.matcher.compiled_grammar.tokenizer_info.vocab_size
        if size != self.vocab_size:
            raise GrammaskError(
                f"the grammar was compiled for {size} tokens, but the pipeline is for "
                f"{self.vocab_size}; compile it with the TokenizerInfo of the model that runs here"
            )

    # --- Steps, on the caller's thread ---

    def begin(
        self,
        requests: Sequence[Optional[Request]],
        tokens: Any = None,
        drafts: Optional[Sequence[RowTokens]] = None,
    ) -> Step:
        """Begins a step: accepts tokens, then fills masks of what may come next. Returns at once.

        requests: the rows of the batch, in the order of the logits; None for a row without a
            grammar. Whichever requests take part may change from step to step.
        tokens: what was sampled since the last step, for each request: None or -1 for nothing, an
            id, or several ids in order (drafts that were confirmed, and the token after them). Or a
            tensor of them, (rows,) or (rows, k) padded with -1; from a CUDA device it is copied
            without waiting. Or a function without arguments that returns one of these, called on
            the pipeline's thread, where it may wait.
        drafts: tokens that a draft model proposes to follow, for each request, as above. A request
            with k drafts has k + 1 rows: after none of them, after the first, and so on. The drafts
            are not accepted: give those that were confirmed as `tokens` of the next step.

        Raises GrammaskError, and begins nothing, where an argument does not fit or `buffers` steps
        are under way. What is wrong with a single request, such as a token that its grammar
        refuses, is told in its RowResult.
        """
        requests = list(requests)
        _check_requests(requests)
        count = len(requests)
        proposed: List[Sequence[int]] = []
        if drafts is not None:
            proposed = [ids_of(d) for d in drafts]
            check_count("drafts", len(proposed), count)
        if isinstance(tokens, (list, tuple)):
            check_count("tokens", len(tokens), count)
        rows = count + sum(map(len, proposed))
        if rows > self.max_rows:
            raise GrammaskError(
                f"{count} requests and {rows - count} drafts need {rows} rows, but max_rows is "
                f"{self.max_rows}",
                code="out_of_range",
            )
        if not self._close.alive:
            raise GrammaskError("the pipeline was closed", code="failed_precondition")
        if not self._free:
            raise GrammaskError(
                f"{self._buffers} steps are under way, as many as there are buffers; apply or "
                "discard one first",
                code="failed_precondition",
            )
        step = Step(self._steps, requests, self._free[0])
        step.drafts, step.rows = proposed, rows
        step._tokens = _coming(tokens)
        step._begun = time.perf_counter_ns()
        idle = self._last is None or self._last.done()
        if idle and not callable(step._tokens) and step._slot.ready():
            self._start(step)
        self._free.popleft()
        self._steps += 1
        self._last = step
        self._under_way.append(step)
        if self._thread is None:
            self._thread = threading.Thread(
                target=_complete_steps, args=(self._work,), name="grammask pipeline", daemon=True
            )
            self._thread.start()
        self._work.put((self._complete, step))
        return step

    def _start(self, step: Step) -> None:
        step._slot.reuse()
        tokens = step._tokens() if callable(step._tokens) else step._tokens
        step._tokens = None
        start(step, tokens, self._runner, self._check_vocabulary)

    def apply(
        self,
        logits: Any,
        step: Optional[Step] = None,
        *,
        timeout: Optional[float] = None,
        vocab_offset: int = 0,
    ) -> List[RowResult]:
        """Waits for the masks of a step and applies them to logits, in place.

        logits: (step.rows, columns), where the pipeline's device is; kinds as of
            apply_token_bitmask_inplace. With CUDA the current stream is used, and nothing waits
            for the device.
        step: by default the one begun first that is still under way.
        timeout: seconds to wait; TimeoutError when they are over, and the step stays under way.
        vocab_offset: the first column's token id, where the logits are a shard of the vocabulary.

        Returns one RowResult for each request. Raises GrammaskError for logits that do not fit,
        before anything is written, and what went wrong with the step as a whole.
        """
        called = time.perf_counter_ns()
        step = self._choose(step)
        self._check_logits(logits, step, vocab_offset)
        results = self._wait(step, timeout)
        ready = time.perf_counter_ns()
        self._mask(logits, step, results, vocab_offset)
        self._finish(step, called, ready)
        return results

    async def apply_async(
        self, logits: Any, step: Optional[Step] = None, *, vocab_offset: int = 0
    ) -> List[RowResult]:
        """apply() without blocking the event loop: waits for the masks as a coroutine, and applies
        them on another thread on the CPU (with CUDA here, as it only starts a kernel). The loop's
        thread is then the one that begins and applies."""
        called = time.perf_counter_ns()
        step = self._choose(step)
        self._check_logits(logits, step, vocab_offset)
        await asyncio.wait([asyncio.wrap_future(step._future)])
        results = self._wait(step, 0)
        ready = time.perf_counter_ns()
        if self._device.startswith("cuda"):
            self._mask(logits, step, results, vocab_offset)
        else:
            await asyncio.get_running_loop().run_in_executor(
                None, self._mask, logits, step, results, vocab_offset
            )
        self._finish(step, called, ready)
        return results

    @contextlib.contextmanager
    def masks(
        self, step: Optional[Step] = None, *, timeout: Optional[float] = None
    ) -> Iterator[Tuple[Any, List[RowResult]]]:
        """Instead of apply(): the masks themselves, for a kernel that reads them beside the logits.

            with pipeline.masks() as (bitmask, results):
                tokens = grammask.masked_argmax(logits, bitmask)

        bitmask: int32 (step.rows, ceil(vocab_size / 32)) on the pipeline's device; rows without a
        mask are all ones. It is only good inside the `with`, at whose end the step is over: with
        CUDA, what reads it must have been started on the stream that is then the current one. Step
        and timeout: as of apply().
        """
        called = time.perf_counter_ns()
        step = self._choose(step)
        results = self._wait(step, timeout)
        ready = time.perf_counter_ns()
        try:
            yield step._slot.receive(step.rows), results
        finally:
            step._slot.applied()
            self._finish(step, called, ready)

    def discard(self, step: Step) -> None:
        """Gives a step up: its tokens stay accepted, its masks are not used."""
        self._release(self._choose(step))

    def close(self) -> None:
        """Ends the pipeline's thread when it has done what was begun. So does leaving a `with`."""
        self._close()
        if self._thread is not None:
            self._thread.join()

    def __enter__(self) -> "MaskPipeline":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def write_trace(self, path: Any) -> None:
        """Writes the last spans (forward, fill, copy, wait, apply; by step and thread) as a Chrome
        trace: JSON that chrome://tracing and ui.perfetto.dev open. `forward` is the time
        from begin() to apply()."""
        self._recorded().write(path)

    def spans(self) -> List[Span]:
        """The spans that write_trace() writes: (name, lane, step, begin, end), in nanoseconds of
        time.perf_counter_ns()."""
        return self._recorded().spans()

    def _recorded(self) -> Trace:
        if self._trace is None:
            raise GrammaskError(
                "no trace was recorded; make the pipeline with trace=10000, or another number of "
                "spans to keep",
                code="failed_precondition",
            )
        return self._trace

    def _choose(self, step: Optional[Step]) -> Step:
        if step is None:
            if not self._under_way:
                raise GrammaskError(
                    "no step is under way; call begin() first", code="failed_precondition"
                )
            return self._under_way[0]
        if step not in self._under_way:
            raise GrammaskError(
                f"step {step.index} is not under way here; it was applied, discarded, or begun by "
                "another pipeline",
                code="failed_precondition",
            )
        return step

    def _check_logits(self, logits: Any, step: Step, vocab_offset: int) -> None:
        device = getattr(logits, "device", "cpu")
        if hasattr(device, "type") and str(device) != self._device:
            raise GrammaskError(
                f"logits are on {device}, but the pipeline is for {self._device}; make it with the "
                "device of the logits"
            )
        shape = tuple(getattr(logits, "shape", ()))
        if len(shape) != 2 or shape[0] != step.rows:
            raise GrammaskError(
                f"logits have shape {shape}; step {step.index} needs ({step.rows}, columns): a row "
                "for each request and one for each draft"
            )
        if vocab_offset < 0 or vocab_offset + shape[1] > self.vocab_size:
            raise GrammaskError(
                f"logits have {shape[1]} columns from token {vocab_offset} on, but the pipeline is "
                f"for {self.vocab_size} tokens; make it, and the TokenizerInfo, with the model's "
                "vocab_size"
            )

    def _wait(self, step: Step, timeout: Optional[float]) -> List[RowResult]:
        try:
            return step.result(timeout)
        except BaseException:
            if step.done():  # it failed; otherwise the time was over
                self._release(step)
            raise

    def _mask(self, logits: Any, step: Step, results: List[RowResult], vocab_offset: int) -> None:
        if not any(result.masked for result in results):
            return
        masks = step._slot.receive(step.rows)
        shard = {"vocab_offset": vocab_offset} if vocab_offset else {}
        apply_token_bitmask_inplace(logits, masks, vocab_size=logits.shape[-1], **shard)
        step._slot.applied()

    def _finish(self, step: Step, called: int, ready: int) -> None:
        self._release(step)
        if self._trace:
            self._trace.add("forward", step.index, step._begun, called, "forward pass")
            self._trace.add("wait", step.index, called, ready)
            self._trace.add("apply", step.index, ready, time.perf_counter_ns())

    def _release(self, step: Step) -> None:
        """Its slot may be used again: steps are run in order."""
        self._under_way.remove(step)
        self._free.append(step._slot)

    # --- On the pipeline's thread ---

    def _complete(self, step: Step) -> None:
        try:
            if step._job is None:
                self._start(step)
            results = finish(step)
            filled = time.perf_counter_ns()
            step._slot.send(step.rows)
            if self._trace:
                self._trace.add("fill", step.index, *step._job.times(), "grammask fill")
                self._trace.add("copy", step.index, filled, time.perf_counter_ns())
        except BaseException as error:  # of the step as a whole: apply() raises it
            step._future.set_exception(error)
        else:
            step._future.set_result(results)


def _complete_steps(work: "queue.SimpleQueue[Any]") -> None:
    """The pipeline's thread. It keeps no pipeline alive while it waits."""
    while True:
        item = work.get()
        if item is None:
            return
        complete, step = item
        complete(step)
        del item, complete, step


def _coming(tokens: Any) -> Any:
    """The tokens, or a function that waits for them: a tensor on a device is copied from there."""
    device = getattr(tokens, "device", None)
    if getattr(device, "type", "cpu") == "cuda":
        return TokenCopy(sys.modules["torch"], tokens)
    return tokens


def _check_requests(requests: List[Optional[Request]]) -> None:
    for i, request in enumerate(requests):
        if request is None:
            continue
        if type(request) is not Request:
            raise GrammaskError(
                f"requests[{i}] is {type(request).__name__}; it must be a Request, which add() "
                "makes, or None"
            )
        if request.cancelled:
            raise GrammaskError(f"requests[{i}] was cancelled", code="failed_precondition")
    given = [request for request in requests if request is not None]
    if len(set(given)) < len(given):
        i = next(i for i, request in enumerate(requests) if request and request in requests[:i])
        j = requests.index(requests[i])
        raise GrammaskError(f"requests[{i}] is also requests[{j}]; a step takes each once")
