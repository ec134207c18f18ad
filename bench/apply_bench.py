#!/usr/bin/env python3
"""Applying masks and choosing tokens on the CPU, side by side with xgrammar and torch.

    python3 bench/apply_bench.py [--threads N] [--rounds N] [--batch N] [--vocab N]

Applying: milliseconds for a whole batch (64 x 128,256 unless told otherwise) in the best of some
rounds, all contestants in turn, so that what else the machine does hits them alike. The bound is
what the memory gives in the same round: a torch copy moves each byte of the rows in and out of the
processor once, as a kernel that reads and writes them must; `bound` is its time times the share of
the rows' cache lines that the mask refuses something in, and the column after it how much of that
bandwidth grammask reaches. add_ is an addition in place. masked_fill_ gets its bool mask ready made, which an engine would have to
expand first. Contestants that are not installed are left out.

Choosing: microseconds a row, against apply and torch's softmax, topk, sort and multinomial.
"""

import argparse
import os
import time


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--vocab", type=int, default=128256)
    return parser.parse_args()


ARGUMENTS = parse()
os.environ.setdefault("GRAMMASK_CPU_THREADS", str(ARGUMENTS.threads))
os.environ.setdefault("OMP_NUM_THREADS", str(ARGUMENTS.threads))

import numpy  # noqa: E402
import torch  # noqa: E402

import grammask  # noqa: E402

try:
    import xgrammar
except ImportError:
    xgrammar = None

torch.set_num_threads(ARGUMENTS.threads)
INF = float("inf")


def best_of(contestants, rounds):
    """The least seconds of each contestant over rounds in which all take turns."""
    least = dict.fromkeys(contestants, INF)
    for _ in range(rounds):
        for name, call in contestants.items():
            began = time.perf_counter()
            call()
            least[name] = min(least[name], time.perf_counter() - began)
    return least


def make_masks(batch, vocab):
    generator = numpy.random.default_rng(0)
    words = -(-vocab // 32)
    full = numpy.full((batch, words), -1, numpy.int32)
    few = numpy.zeros((batch, words), numpy.int32)
    few[:, ::50] = 5
    nearly = full.copy()
    nearly[:, ::10] = 0x7FFFFFFF
    return {
        "random": generator.integers(-(2**31), 2**31, (batch, words)).astype(numpy.int32),
        "none allowed": numpy.zeros((batch, words), numpy.int32),
        "one in 800 allowed": few,
        "one in 320 refused": nearly,
        "all allowed": full,
    }


def refused_bits(mask, vocab):
    bits = numpy.unpackbits(mask.view(numpy.uint8), axis=1, bitorder="little")[:, :vocab]
    return bits == 0


def touched(refused, element_bytes):
    """The share of 64-byte lines that hold a refused logit."""
    per_line = 64 // element_bytes
    columns = refused.shape[1] // per_line * per_line
    return refused[:, :columns].reshape(len(refused), -1, per_line).any(2).mean()


def bench_apply(dtype):
    batch, vocab = ARGUMENTS.batch, ARGUMENTS.vocab
    logits = torch.randn(batch, vocab).to(dtype)
    other = torch.empty_like(logits)
    theirs = xgrammar is not None and dtype != torch.float64
    print(f"\n{str(dtype)[6:]}, {batch} x {vocab}, milliseconds, {ARGUMENTS.threads} thread(s)")
    print(f"{'mask':20}{'grammask':>10}{'xgrammar':>10}{'masked_fill_':>14}{'add_':>8}{'copy':>8}"
          f"{'bound':>8}{'reached':>9}{'xgrammar x':>12}{'fill_ x':>9}")
    for name, bits in make_masks(batch, vocab).items():
        refused = refused_bits(bits, vocab)
        share = touched(refused, logits.element_size())
        mask, expanded = torch.from_numpy(bits), torch.from_numpy(refused)
        contestants = {
            "copy": lambda: other.copy_(logits),
            "add_": lambda: logits.add_(0),
            "grammask": lambda: grammask.apply_token_bitmask_inplace(logits, mask),
            "masked_fill_": lambda: logits.masked_fill_(expanded, -INF),
        }
        if theirs:
            contestants["xgrammar"] = lambda: xgrammar.apply_token_bitmask_inplace(
                logits, mask, backend="cpu"
            )
        times = {k: v * 1e3 for k, v in best_of(contestants, ARGUMENTS.rounds).items()}
        bound, ours = times["copy"] * share, times["grammask"]
        rival = times.get("xgrammar", float("nan"))
        print(f"{name:20}{ours:10.3f}{rival:10.3f}{times['masked_fill_']:14.3f}"
              f"{times['add_']:8.3f}{times['copy']:8.3f}{bound:8.3f}{bound / ours:9.0%}{rival / ours:12.1f}"
              f"{times['masked_fill_'] / ours:9.1f}", flush=True)


def torch_sample(logits, mask, top_k, top_p):
    """What an engine does: apply, cut, softmax, draw."""
    logits = logits.clone()
    grammask.apply_token_bitmask_inplace(logits, mask)
    if top_k:
        floor = torch.topk(logits, top_k).values[:, -1:]
        logits.masked_fill_(logits < floor, -INF)
    if top_p < 1:
        values, order = logits.sort(1)
        cut = values.softmax(1).cumsum(1) <= 1 - top_p
        cut[:, -1] = False
        logits.masked_fill_(torch.empty_like(cut).scatter_(1, order, cut), -INF)
    return torch.multinomial(logits.softmax(1), 1)


def torch_argmax(logits, mask):
    logits = logits.clone()
    grammask.apply_token_bitmask_inplace(logits, mask)
    return logits.argmax(1)


def bench_choice():
    batch, vocab = min(ARGUMENTS.batch, 16), ARGUMENTS.vocab
    torch.manual_seed(0)
    print(f"\nchoosing, float32, {batch} x {vocab}, microseconds a row")
    print(f"{'mask':20}{'logits':>12}{'':>4}{'how':22}{'grammask':>10}{'torch':>10}{'x':>7}")
    masks = make_masks(batch, vocab)
    peaked = torch.randn(batch, vocab) * 3
    peaked[:, :40] += 15
    for mask_name in ("all allowed", "random", "one in 800 allowed"):
        mask = torch.from_numpy(masks[mask_name])
        for kind, logits in (("flat", torch.randn(batch, vocab)), ("peaked", peaked)):
            contestants = {"argmax": (lambda: grammask.masked_argmax(logits, mask),
                                      lambda: torch_argmax(logits, mask))}
            for how, top_k, top_p in (("temperature", 0, 1.0), ("top-k 50", 50, 1.0),
                                      ("top-p 0.9", 0, 0.9), ("top-k 50, top-p 0.9", 50, 0.9)):
                contestants[how] = (
                    lambda k=top_k, p=top_p: grammask.masked_sample(
                        logits, mask, seed=1, top_k=k, top_p=p
                    ),
                    lambda k=top_k, p=top_p: torch_sample(logits, mask, k, p),
                )
            for how, (ours, theirs) in contestants.items():
                times = best_of({"ours": ours, "theirs": theirs}, max(ARGUMENTS.rounds // 2, 2))
                a, b = (times[k] * 1e6 / batch for k in ("ours", "theirs"))
                print(f"{mask_name:20}{kind:>12}{'':>4}{how:22}{a:10.1f}{b:10.1f}{b / a:7.1f}",
                      flush=True)


if __name__ == "__main__":
    print(f"grammask's kernels: {grammask._core.cpu_isa()}; torch {torch.__version__}; xgrammar "
          f"{'not installed' if xgrammar is None else 'installed'}")
    for one in (torch.float32, torch.bfloat16, torch.float64):
        bench_apply(one)
    bench_choice()
