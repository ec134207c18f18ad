"""grammask.pipeline.MaskPipeline: masks are made while the model's forward pass runs.

What a decoding loop does for each step, and who does it when:

    caller's thread    begin | forward pass ........ | apply | sample | begin | forward ...
    beside it                accept | fill | copy                       accept | fill ...

so that a step takes as long as the longer of the two, and not the sum:

    pipeline = MaskPipeline(vocab_size, max_rows=64, device=model.device)
    requests = [pipeline.add(compiled) for compiled in grammars]
    tokens = None
    while requests:
        pipeline.begin(requests, tokens)         # accepts the tokens, and begins to fill
        logits = model(...)                      # (len(requests), vocab_size)
        results = pipeline.apply(logits)         # waits for what is not ready yet
        tokens = sample(logits)
        ...                                      # drop requests that have ended

Accepting and filling is done by the threads of a BatchGrammarMatcher, which need no GIL. With CUDA
the masks go through pinned memory and a side stream, and the caller's thread never waits for the
device.
Tested by tests/python/test_pipeline.py; examples/overlap.py measures it.
"""

from .mask_pipeline import MaskPipeline
from .step import Request, RowResult, Step
from .trace import Span

__all__ = ["MaskPipeline", "Request", "RowResult", "Span", "Step"]
