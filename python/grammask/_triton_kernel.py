"""What Triton compiles; a module of its own, as Triton wants its names as globals."""
# mypy: ignore-errors

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def apply_kernel(
    logits,
    bitmask,
    rows,
    row_count,
    columns,
    vocab_offset,
    logits_stride,
    mask_stride,
    HAS_ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """One program a block of BLOCK columns of one row; rows: which one, where HAS_ROWS."""
    blocks = tl.cdiv(columns, BLOCK)
    program = tl.program_id(0)
    item = program // blocks
    row = item.to(tl.int64)
    if HAS_ROWS:
        row = tl.load(rows + item).to(tl.int64)
    column = (program % blocks) * BLOCK + tl.arange(0, BLOCK)
    end = tl.where((row >= 0) & (row < row_count), columns, 0)  # other rows are skipped
    inside = column < end
    token = vocab_offset + column
    word = tl.load(bitmask + row * mask_stride + (token >> 5), mask=inside, other=-1)
    refused = ((word >> (token & 31)) & 1) == 0  # none outside, where words read as -1
    place = logits + row * logits_stride + column
    tl.store(place, tl.full([BLOCK], -float("inf"), logits.dtype.element_ty), mask=refused)
