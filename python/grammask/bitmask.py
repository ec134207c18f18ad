"""Bitmasks: allocating them, and applying them to logits.

A bitmask row has ceil(vocab_size / 32) int32 words; bit (id & 31) of word (id >> 5) allows token
id. A row of -1 allows everything. Arrays are torch tensors in a program that has imported torch,
NumPy arrays otherwise: torch takes 200 MB and a second to import, which is for the program to
choose.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import sys
import warnings
from typing import Any, List, Optional, Sequence, Tuple, Union, cast

from . import _core, _cuda, _triton
from .exception import GrammaskError

_BACKENDS = ("auto", "cpu", "cuda", "triton", "torch_compile", "torch_native")


@functools.lru_cache(maxsize=None)
def _has_torch() -> bool:
    """Whether torch, which is not imported yet, is installed. Looked for once: that takes 50 us."""
    return importlib.util.find_spec("torch") is not None


def _torch() -> Any:
    """The torch module, or None where there is none."""
    module = sys.modules.get("torch")
    if module is not None:
        return module
    if not _has_torch():
        return None
    try:
        import torch
    except (ImportError, OSError):  # installed, but not in working order
        return None
    return torch


def _is_torch_tensor(array: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def bitmask_dtype() -> Any:
    """torch.int32 where torch can be imported, else numpy.int32."""
    torch = _torch()
    if torch is not None:
        return torch.int32
    import numpy

    return numpy.int32


def get_bitmask_shape(batch_size: int, vocab_size: int) -> Tuple[int, int]:
    """The shape of a bitmask: (batch_size, ceil(vocab_size / 32))."""
    return (batch_size, -(-vocab_size // 32))


def allocate_token_bitmask(batch_size: int, vocab_size: int) -> Any:
    """A new bitmask that allows everything.

    Returns an int32 array of shape (batch_size, ceil(vocab_size / 32)), all -1. Where the program
    has imported torch, as all have that have a tensor, it is a torch tensor on the CPU; else a
    NumPy array, of the class HostBitmask where torch is installed: that has a tensor's methods, too,
    and imports torch when one of them is called. Raises GrammaskError for a negative size.
    """
    shape = get_bitmask_shape(batch_size, vocab_size)
    if batch_size < 0 or vocab_size < 0:
        raise GrammaskError(
            f"batch_size is {batch_size} and vocab_size is {vocab_size}; neither may be negative"
        )
    torch = sys.modules.get("torch")
    if torch is not None:
        return torch.full(shape, -1, dtype=torch.int32)
    import numpy

    bitmask = numpy.full(shape, -1, dtype=numpy.int32)
    if _has_torch():
        from .host_bitmask import HostBitmask

        bitmask = bitmask.view(HostBitmask)
    _core._meet_array(bitmask)  # else the first mask does
    return bitmask


def reset_token_bitmask(bitmask: Any) -> None:
    """Makes a bitmask allow everything, in place."""
    if hasattr(type(bitmask), "fill_"):
        bitmask.fill_(-1)
    else:
        bitmask.fill(-1)


def apply_token_bitmask_inplace(
    logits: Any,
    bitmask: Any,
    *,
    vocab_size: Optional[int] = None,
    indices: Optional[Union[Sequence[int], Any]] = None,
    backend: str = "auto",
    vocab_offset: int = 0,
    stream: Optional[int] = None,
) -> None:
    """Sets the logits of refused tokens to minus infinity, in place.

    logits: float32, float16, bfloat16 or float64, of shape (batch_size, columns) or (columns,); a
        torch tensor on any device, a NumPy array, or an array with DLPack on the CPU or a CUDA
        device (such as cupy's).
    bitmask: int32 of shape (batch_size, words) or (words,), on the same device.
    vocab_size: columns to look at; by default those that both logits and bitmask have. Columns
        beyond keep their values (a UserWarning says so where the bitmask is the shorter one).
    indices: rows, of both arrays, to work on; by default all, and both need as many. A list, array
        or tensor of ints. Of indices on a CUDA device those outside the rows are skipped, as
        looking at them would wait for the device.
    backend: "auto" takes this library's CPU kernel for CPU memory; on CUDA its CUDA kernel where
        that can be loaded, else Triton where it is installed, else torch operations; on other
        devices Triton or torch operations. "cpu", "cuda" and "triton" insist on one of these;
        "torch_compile" and "torch_native" use torch operations on the tensor's device.
    vocab_offset: the token of column 0, where logits are a shard of the vocabulary, as with tensor
        parallelism: column c is governed by bit vocab_offset + c of the bitmask, which is that of
        the whole vocabulary. Any alignment.
    stream: for CUDA, the stream to work on, as an int (a CUstream); by default torch's current one,
        or the default stream for arrays of other libraries. The call does not wait for the device,
        allocates nothing with the CUDA kernel, and may be captured in a CUDA graph.

    Raises GrammaskError (a ValueError and a RuntimeError) for anything that does not fit, before
    anything is written. Releases the GIL on the CPU.
    """
    if backend not in _BACKENDS:
        raise GrammaskError(
            f"unknown backend {backend!r}; it must be one of {', '.join(_BACKENDS)}"
        )
    if _is_torch_tensor(logits):
        _check_devices(logits, bitmask)
        if backend == "triton" and logits.device.type == "cpu":
            raise GrammaskError('backend "triton" needs tensors on a GPU, but logits are on cpu')
    elif backend not in ("auto", "cpu", "cuda"):
        raise GrammaskError(
            f'backend "{backend}" needs torch tensors, but logits are {type(logits).__name__}'
        )
    if vocab_size is None:
        _warn_if_short(logits, bitmask, vocab_offset)
    options = {"vocab_size": vocab_size, "vocab_offset": vocab_offset, "indices": indices}
    if backend == "cpu" or (backend == "auto" and _in_cpu_memory(logits)):
        if indices is not None and _is_torch_tensor(indices):
            indices = cast(Any, indices).tolist()
        _core.apply_token_bitmask_inplace_cpu(logits, bitmask, vocab_size, indices, vocab_offset)
    elif _takes_cuda_kernel(logits, backend):
        _cuda.apply(logits, bitmask, stream=stream, **options)
    elif backend == "triton" or (backend == "auto" and _triton.can_run(logits)):
        _triton.apply(logits, bitmask, stream=stream, **options)
    else:
        with _stream_scope(stream):
            _apply_torch(logits, bitmask, vocab_size, vocab_offset, indices)


def apply_token_bitmask(
    logits: Any,
    bitmask: Any,
    *,
    out: Optional[Any] = None,
    vocab_size: Optional[int] = None,
    indices: Optional[Union[Sequence[int], Any]] = None,
    backend: str = "auto",
    vocab_offset: int = 0,
    stream: Optional[int] = None,
) -> Any:
    """apply_token_bitmask_inplace into another array; the logits keep their values.

    out: an array like the logits that does not overlap them; by default a new one. With indices,
        only these rows of a given out are written.

    Returns out. The CUDA kernel reads no logit that it overwrites; other backends copy first.
    """
    options: "dict[str, Any]" = {
        "vocab_size": vocab_size,
        "vocab_offset": vocab_offset,
        "indices": indices,
        "stream": stream,
    }
    if _takes_cuda_kernel(logits, backend) and (out is not None or indices is None):
        if vocab_size is None:
            _warn_if_short(logits, bitmask, vocab_offset)
        if out is None:
            out = _cuda.empty_like(logits)
        _cuda.apply(logits, bitmask, out=out, **options)
        return out
    if out is None:
        out = logits.clone() if hasattr(logits, "clone") else logits.copy()
    elif tuple(out.shape) != tuple(logits.shape) or out.dtype != logits.dtype:
        raise GrammaskError("out must have the dtype and the shape of the logits")
    else:
        with _stream_scope(stream):
            if indices is None or len(logits.shape) == 1:
                out[...] = logits
            else:
                out[indices] = logits[indices]
    apply_token_bitmask_inplace(out, bitmask, backend=backend, **options)
    return out


def _takes_cuda_kernel(logits: Any, backend: str) -> bool:
    """Whether this backend means the CUDA kernel here; a GrammaskError where it cannot be had."""
    if backend == "cuda":
        _cuda.require(logits)
        return True
    if backend != "auto" or _cuda.device_of(logits) is None:
        return False
    if not _is_torch_tensor(logits):
        _cuda.require(logits)  # nothing else works on these
    return _cuda.can_run(logits)


def _stream_scope(stream: Optional[int]) -> Any:
    """A CUDA stream as torch's current one, for torch operations."""
    if stream is None:
        return contextlib.nullcontext()
    torch = _torch()
    if torch is None or not torch.cuda.is_available():
        raise GrammaskError("stream is for tensors on a CUDA device")
    return torch.cuda.stream(torch.cuda.ExternalStream(stream))


def _check_devices(logits: Any, bitmask: Any) -> None:
    device = getattr(bitmask, "device", None)
    kind = getattr(device, "type", "cpu")  # NumPy: no torch device, so CPU memory
    if kind != logits.device.type:
        raise GrammaskError(
            f"logits are on {logits.device} and the bitmask is on {device or 'cpu'}; they must be "
            "on the same device"
        )


def _in_cpu_memory(logits: Any) -> bool:
    if _is_torch_tensor(logits):
        return bool(logits.device.type == "cpu")
    return _cuda.device_of(logits) is None


def _warn_if_short(logits: Any, bitmask: Any, vocab_offset: int) -> None:
    columns, words = _last(logits), _last(bitmask)
    if columns is not None and words is not None and vocab_offset + columns > words * 32:
        covered = max(words * 32 - vocab_offset, 0)
        warnings.warn(
            f"the bitmask covers {words * 32} tokens but logits have {columns} columns"
            f"{f' from token {vocab_offset} on' if vocab_offset else ''}; columns "
            f"from {covered} on keep their values. Allocate the bitmask for the whole "
            "vocabulary, or give vocab_size.",
            stacklevel=3,
        )


def _last(array: Any) -> Optional[int]:
    shape = getattr(array, "shape", None)
    return shape[-1] if shape else None


def _apply_torch(
    logits: Any,
    bitmask: Any,
    vocab_size: Optional[int],
    vocab_offset: int,
    indices: Optional[Any],
) -> None:
    """The same with torch operations, on whatever device the tensors are."""
    torch = sys.modules["torch"]
    if not _is_torch_tensor(bitmask):
        bitmask = torch.as_tensor(bitmask)
    if bitmask.dtype != torch.int32:
        raise GrammaskError("bitmask must be of int32")
    if not logits.dtype.is_floating_point:
        raise GrammaskError("logits must be of float32, float16, bfloat16 or float64")
    logits = logits.unsqueeze(0) if logits.dim() == 1 else logits
    bitmask = bitmask.unsqueeze(0) if bitmask.dim() == 1 else bitmask
    columns = _columns(logits, bitmask, vocab_size, vocab_offset)
    if indices is None:
        if logits.shape[0] != bitmask.shape[0]:
            raise GrammaskError(
                f"logits have {logits.shape[0]} rows and the bitmask {bitmask.shape[0]}; without "
                "indices both need the same number"
            )
        refused = _refused(torch, bitmask, vocab_offset, columns)
        logits[:, :columns].masked_fill_(refused, float("-inf"))
        return
    rows = _row_tensor(torch, logits, bitmask, indices)
    refused = _refused(torch, bitmask[rows], vocab_offset, columns)
    logits[rows, :columns] = logits[rows, :columns].masked_fill(refused, float("-inf"))


def _refused(torch: Any, bitmask: Any, vocab_offset: int, columns: int) -> Any:
    """Which of the tokens [vocab_offset, vocab_offset + columns) are refused, as bools."""
    words = bitmask[:, vocab_offset // 32 : -(-(vocab_offset + columns) // 32)]
    shifts = torch.arange(32, device=bitmask.device, dtype=torch.int32)
    refused = (((words.unsqueeze(-1) >> shifts) & 1) == 0).flatten(1)
    return refused[:, vocab_offset % 32 : vocab_offset % 32 + columns]


def _columns(logits: Any, bitmask: Any, vocab_size: Optional[int], vocab_offset: int) -> int:
    if vocab_offset < 0:
        raise GrammaskError(
            f"vocab_offset is {vocab_offset}; it must not be negative", code="out_of_range"
        )
    covered = max(int(bitmask.shape[1]) * 32 - vocab_offset, 0)
    most = min(int(logits.shape[1]), covered)
    if vocab_size is None:
        return most
    if not 0 <= vocab_size <= most:
        raise GrammaskError(
            f"vocab_size is {vocab_size}, but logits have {logits.shape[1]} columns and the "
            f"bitmask covers {covered} tokens"
            f"{f' from {vocab_offset} on' if vocab_offset else ''}",
            code="out_of_range",
        )
    return vocab_size


def _row_tensor(torch: Any, logits: Any, bitmask: Any, indices: Any) -> Any:
    if _is_torch_tensor(indices) and indices.device.type != "cpu":
        return indices.to(device=logits.device, dtype=torch.long)  # checked by the device itself
    rows: List[int] = indices.tolist() if hasattr(indices, "tolist") else list(indices)
    most = min(int(logits.shape[0]), int(bitmask.shape[0]))
    for position, row in enumerate(rows):
        if not 0 <= row < most:
            raise GrammaskError(
                f"indices[{position}] is {row}, outside the {logits.shape[0]} rows of the logits "
                f"or the {bitmask.shape[0]} rows of the bitmask",
                code="out_of_range",
            )
    return torch.tensor(rows, device=logits.device, dtype=torch.long)
