"""The Triton kernel, interpreted on the CPU, against the CPU kernel, bit for bit."""

import os
import subprocess
import sys

import pytest

CASES = """
import torch
import grammask
from grammask import _triton

assert _triton.can_import()
generator = torch.Generator().manual_seed(1)


def bits(tensor):
    return tensor.contiguous().view(-1).view(torch.uint8)


for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
    for columns in (1, 31, 32, 33, 1000, 5000):
        for vocab_offset in (0, 5, 32, 77):
            words = -(-(columns + vocab_offset) // 32)
            logits = torch.randn(6, columns + 9, generator=generator).to(dtype)
            logits[:, ::7], logits[:, 3::11] = float("nan"), float("inf")
            mask = torch.randint(
                -(2**31), 2**31, (6, words), dtype=torch.int64, generator=generator
            ).int()
            mask[0], mask[1] = -1, 0
            for indices in (None, [3], [5, 0, 1], torch.tensor([2, 4]), []):
                got, want = logits.clone(), logits.clone()
                options = dict(
                    vocab_size=columns - columns // 3, vocab_offset=vocab_offset, indices=indices
                )
                _triton.apply(got[:, 1:columns + 1], mask, **options)
                grammask.apply_token_bitmask_inplace(want[:, 1:columns + 1], mask, **options)
                assert torch.equal(bits(got), bits(want)), (dtype, columns, options)

logits, mask = torch.zeros(2, 40), torch.zeros(2, 2, dtype=torch.int32)
for wrong in (
    dict(vocab_size=41), dict(indices=[2]), dict(indices=[-1]), dict(vocab_offset=-1),
    dict(bitmask=mask.long()), dict(bitmask=mask[:1]), dict(logits=logits.long()),
    dict(logits=torch.zeros(40, 2).T), dict(logits=logits[None]),
):
    arguments = dict(logits=logits, bitmask=mask) | wrong
    try:
        _triton.apply(arguments.pop("logits"), arguments.pop("bitmask"), **arguments)
    except grammask.GrammaskError:
        continue
    raise AssertionError(wrong)
assert not logits.any()
_triton.apply(logits[0], mask[0])
assert (logits[0] == -float("inf")).all() and not logits[1].any()
print("as the CPU kernel")
"""


def test_as_the_cpu_kernel():
    pytest.importorskip("torch")
    pytest.importorskip("triton")
    result = subprocess.run(
        [sys.executable, "-c", CASES],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0 and "as the CPU kernel" in result.stdout, result.stderr[-4000:]
