"""The Triton kernel that applies masks: CUDA, ROCm and XPU, wherever Triton runs.

Same meaning as the CUDA kernel, bit for bit. One program looks at one block of one row: reads the
mask's word for each column, and writes minus infinity where it refuses; what is allowed is neither
read nor written. Needs torch and Triton, which is imported on first use.
"""

from __future__ import annotations

import contextlib
import importlib.util
from typing import Any, Optional

from .exception import GrammaskError

_BLOCK = 4096


def can_import() -> bool:
    """Whether Triton is installed and in working order."""
    if importlib.util.find_spec("triton") is None:
        return False
    try:
        _load()
    except Exception:  # an installation that is not in working order, whatever it raises
        return False
    return True


def can_run(logits: Any) -> bool:
    """Whether a torch tensor is on a device that Triton works for, and Triton is there."""
    return logits.device.type in ("cuda", "xpu") and can_import()


_kernel: Any = None


def _load() -> Any:
    global _kernel
    if _kernel is None:
        from ._triton_kernel import apply_kernel

        _kernel = apply_kernel
    return _kernel


def apply(
    logits: Any,
    bitmask: Any,
    *,
    vocab_size: Optional[int] = None,
    vocab_offset: int = 0,
    indices: Optional[Any] = None,
    stream: Optional[int] = None,
) -> None:
    """apply_token_bitmask_inplace by the Triton kernel.

    Rows of indices on the device are not checked, as that would wait for it: those outside are
    skipped.
    """
    import torch

    from .bitmask import _columns, _row_tensor

    if bitmask.dtype != torch.int32:
        raise GrammaskError("bitmask must be of int32")
    if logits.dtype not in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
        raise GrammaskError("logits must be of float32, float16, bfloat16 or float64")
    for name, tensor in (("logits", logits), ("bitmask", bitmask)):
        if tensor.dim() not in (1, 2):
            raise GrammaskError(f"{name} has {tensor.dim()} dimensions; it must have 1 or 2")
        if tensor.shape[-1] > 1 and tensor.stride(-1) != 1:
            raise GrammaskError(
                f"the elements of a row of {name} must lie next to each other in memory; make it "
                "contiguous first"
            )
    logits = logits.unsqueeze(0) if logits.dim() == 1 else logits
    bitmask = bitmask.unsqueeze(0) if bitmask.dim() == 1 else bitmask
    columns = _columns(logits, bitmask, vocab_size, vocab_offset)
    if indices is None and logits.shape[0] != bitmask.shape[0]:
        raise GrammaskError(
            f"logits have {logits.shape[0]} rows and the bitmask {bitmask.shape[0]}; without "
            "indices both need the same number"
        )
    rows = None if indices is None else _row_tensor(torch, logits, bitmask, indices)
    items = logits.shape[0] if rows is None else len(rows)
    if items == 0 or columns == 0:
        return
    kernel = _load()
    with _working_on(logits, stream):
        kernel[(items * -(-columns // _BLOCK),)](
            logits,
            bitmask,
            rows if rows is not None else bitmask,
            min(logits.shape[0], bitmask.shape[0]),
            columns,
            vocab_offset,
            logits.stride(0),
            bitmask.stride(0),
            HAS_ROWS=rows is not None,
            BLOCK=_BLOCK,
        )


def _working_on(logits: Any, stream: Optional[int]) -> Any:
    """The logits' device, and a stream of it where one is given, as torch's current ones."""
    import torch

    kind = logits.device.type
    if kind == "cpu":  # Triton's interpreter
        return contextlib.nullcontext()
    module = getattr(torch, kind)
    if stream is None:
        return module.device(logits.device)
    if kind != "cuda":
        raise GrammaskError(f"stream is for CUDA; make it the current one of torch.{kind} instead")
    return torch.cuda.stream(torch.cuda.ExternalStream(stream, device=logits.device))
