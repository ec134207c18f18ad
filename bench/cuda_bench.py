#!/usr/bin/env python3
"""Masks applied, and tokens chosen, on a GPU: against the bytes that must move, and against others.

    python3 bench/cuda_bench.py [--columns 128256] [--dtype float32] [--part apply] [--out x.json]

For each batch size and kind of mask: time of one call by CUDA events over many calls in a row, and
replayed from a CUDA graph (without Python and the driver's launch); bytes that the call must touch
over that time, as a fraction of what copying a large tensor reaches on the same GPU. Beside it the
Triton kernel, torch's masked_fill_ with a ready-made mask of bools, and xgrammar's kernels where it
is installed. Then the fused samplers against applying the mask and sampling by torch's operations.

Nothing is warmed up that a user would pay for at each step; the kernels' one-time load is timed and
printed first. Data are rotated over enough buffers that a call does not find its rows in the L2
cache.
"""

import argparse
import json
import sys
import time

import grammask
from grammask import _core, _cuda, _triton

BATCHES = (1, 16, 64, 256, 1024)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--columns", type=int, default=128256)
    parser.add_argument("--dtype", default="float32", choices=["float32", "float16", "bfloat16"])
    parser.add_argument("--part", default="both", choices=["apply", "choose", "both"])
    parser.add_argument("--out", help="also write the results as JSON")
    return parser.parse_args()


def make_masks(torch, kind, rows, columns):
    words = -(-columns // 32)
    if kind == "none allowed":
        return torch.zeros(rows, words, dtype=torch.int32, device="cuda")
    if kind == "all allowed":
        return torch.full((rows, words), -1, dtype=torch.int32, device="cuda")
    mask = torch.randint(-(2**31), 2**31, (rows, words), device="cuda").int()
    if kind == "50 allowed":  # as in a number or a key: few tokens
        mask.zero_()
        mask[:, :: max(1, words // 50)] = 1
    return mask


def bytes_touched(torch, mask, rows, columns, size):
    """Of mask and logits: 16-byte slots written where a token is refused, read where one is kept."""
    shifts = torch.arange(32, device="cuda", dtype=torch.int32)
    bits = ((mask[:1].unsqueeze(-1) >> shifts) & 1).flatten()[:columns].bool()
    lanes = 16 // size
    slots = bits[: columns // lanes * lanes].view(-1, lanes)
    refused, kept = (~slots).any(1), slots.any(1)
    per_row = mask.shape[1] * 4 + 16 * int(refused.sum()) + 16 * int((refused & kept).sum())
    return per_row * rows


def time_calls(torch, calls, repeat=20):
    """Seconds for one of `calls`, run in turn; the best of five runs."""
    best = float("inf")
    for _ in range(5):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        begin.record()
        for index in range(repeat):
            calls[index % len(calls)]()
        end.record()
        torch.cuda.synchronize()
        best = min(best, begin.elapsed_time(end) / 1e3 / repeat)
    return best


def time_graph(torch, calls):
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            for call in calls:
                call()
    except RuntimeError as error:  # some of the others cannot be captured
        torch.cuda.synchronize()
        return None, str(error).splitlines()[0]
    return time_calls(torch, [graph.replay], 5) / len(calls), None


def copy_bandwidth(torch):
    a = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    b = torch.empty_like(a)
    return 2 * a.numel() / time_calls(torch, [lambda: b.copy_(a)])


def appliers(torch, logits, mask, columns):
    shifts = torch.arange(32, device="cuda", dtype=torch.int32)
    refused = (((mask.unsqueeze(-1) >> shifts) & 1) == 0).flatten(1)[:, :columns].contiguous()
    found = {
        "cuda": lambda x: grammask.apply_token_bitmask_inplace(x, mask, backend="cuda"),
        "torch masked_fill_": lambda x: x.masked_fill_(refused, -float("inf")),
    }
    if _triton.can_import():
        found["triton"] = lambda x: grammask.apply_token_bitmask_inplace(x, mask, backend="triton")
    try:
        import xgrammar
    except ImportError:
        return found
    for backend in ("cuda", "triton"):
        found[f"xgrammar {backend}"] = lambda x, backend=backend: (
            xgrammar.apply_token_bitmask_inplace(x, mask, backend=backend)
        )
    return found


def bench_apply(torch, args, bandwidth, results):
    size = getattr(torch, args.dtype).itemsize
    for rows in BATCHES:
        copies = max(2, min(64, (1 << 28) // (rows * args.columns * size)))
        buffers = [
            torch.randn(rows, args.columns, device="cuda").to(getattr(torch, args.dtype))
            for _ in range(copies)
        ]
        for kind in ("none allowed", "50 allowed", "random", "all allowed"):
            mask = make_masks(torch, kind, rows, args.columns)
            needed = bytes_touched(torch, mask, rows, args.columns, size)
            for name, apply in appliers(torch, buffers[0], mask, args.columns).items():
                try:
                    apply(buffers[0])
                    calls = [lambda x=x, apply=apply: apply(x) for x in buffers]
                    seconds = time_calls(torch, calls)
                    graph, why = time_graph(torch, calls)
                except Exception as error:  # one of the others: say so and go on
                    print(f"{rows:5} {kind:13} {name:19} failed: {str(error).splitlines()[0]}")
                    continue
                of_copy = needed / (graph or seconds) / bandwidth
                print(
                    f"{rows:5} {kind:13} {name:19} {seconds * 1e6:9.1f} us, graph "
                    f"{'-' if graph is None else f'{graph * 1e6:9.1f} us'}, "
                    f"{of_copy:6.1%} of copying"
                    + (f" (no graph: {why})" if why else "")
                )
                results.append([rows, kind, name, seconds, graph, of_copy])


def torch_sample(torch, logits, mask, temperature, top_k, top_p):
    grammask.apply_token_bitmask_inplace(logits, mask)
    x = logits.float() / temperature
    if top_k:
        x = x.masked_fill(x < x.topk(top_k, 1).values[:, -1:], -float("inf"))
    if top_p < 1:
        ordered, order = x.sort(1, descending=True)
        p = ordered.softmax(1)
        ordered = ordered.masked_fill(p.cumsum(1) - p >= top_p, -float("inf"))
        x = torch.full_like(x, -float("inf")).scatter_(1, order, ordered)
    return torch.multinomial(x.softmax(1), 1)


def bench_choose(torch, args, results):
    for rows in BATCHES:
        for kind in ("50 allowed", "random", "all allowed"):
            logits = torch.randn(rows, args.columns, device="cuda") * 3
            logits = logits.to(getattr(torch, args.dtype))
            mask = make_masks(torch, kind, rows, args.columns)

            def plain_argmax(logits=logits, mask=mask):
                grammask.apply_token_bitmask_inplace(logits, mask)
                return logits.argmax(1)

            pairs = {"argmax": (lambda: grammask.masked_argmax(logits, mask), plain_argmax)}
            for name, (temperature, top_k, top_p) in {
                "temperature": (0.8, 0, 1.0),
                "top-k 50": (0.8, 50, 1.0),
                "top-p 0.9": (0.8, 0, 0.9),
                "top-k, top-p": (0.8, 50, 0.9),
            }.items():
                pairs[name] = (
                    lambda t=temperature, k=top_k, p=top_p: grammask.masked_sample(
                        logits, mask, seed=1, temperature=t, top_k=k, top_p=p
                    ),
                    lambda t=temperature, k=top_k, p=top_p: torch_sample(
                        torch, logits, mask, t, k, p
                    ),
                )
            for name, (fused, plain) in pairs.items():
                fused(), plain()
                ours, theirs = time_calls(torch, [fused]), time_calls(torch, [plain])
                print(
                    f"{rows:5} {kind:13} {name:13} fused {ours * 1e6:9.1f} us, apply and torch "
                    f"{theirs * 1e6:9.1f} us, {theirs / ours:5.1f} times"
                )
                results.append([rows, kind, name, ours, theirs])


def main():
    args = parse()
    try:
        import torch
    except ImportError:
        sys.exit("cuda_bench.py needs torch")
    if not torch.cuda.is_available():
        sys.exit("cuda_bench.py needs a CUDA device, and torch sees none")
    began = time.perf_counter()
    reason = _cuda.reason_against(torch.cuda.current_device())
    if reason is not None:
        sys.exit(f"the CUDA kernels cannot be used: {reason}")
    loading = time.perf_counter() - began
    bandwidth = copy_bandwidth(torch)
    print(
        f"{torch.cuda.get_device_name()}, torch {torch.__version__}, copying {bandwidth / 1e9:.0f} "
        f"GB/s; kernels of {_core.cuda_image_size()} bytes loaded in {loading * 1e3:.1f} ms"
    )
    print(f"{args.columns} columns of {args.dtype}")
    results = {"device": torch.cuda.get_device_name(), "copy": bandwidth, "apply": [], "choose": []}
    if args.part != "choose":
        bench_apply(torch, args, bandwidth, results["apply"])
    if args.part != "apply":
        bench_choose(torch, args, results["choose"])
    if args.out:
        with open(args.out, "w") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
