"""This library's CUDA kernels: where they can be used, and calling them with outputs allocated.

The kernels are in the extension module; the driver is loaded, and the kernels with it, when a
device is first used. Tensors are those of torch, or of any library whose arrays have DLPack (cupy,
jax).
"""

from __future__ import annotations

import operator
import sys
from typing import Any, Dict, Optional, Tuple

from . import _core
from .exception import GrammaskError

_CUDA = (2, 13)  # DLPack's kDLCUDA and kDLCUDAManaged
# Of each device tried: None where the kernels work there, else the reason why not.
_reasons: Dict[int, Optional[str]] = {}


def device_of(array: Any) -> Optional[int]:
    """The CUDA device that an array is on; None where it is elsewhere, or no array."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        if array.device.type != "cuda" or getattr(torch.version, "hip", None) is not None:
            return None
        return int(array.device.index)
    if type(array).__module__ == "numpy":
        return None
    where = getattr(array, "__dlpack_device__", None)
    if where is None:
        return None
    kind, index = where()
    return int(index) if int(kind) in _CUDA else None


def reason_against(device: int) -> Optional[str]:
    """None where the kernels can run on a device, else why they cannot. Loads them on first use."""
    if device not in _reasons:
        try:
            _core.cuda_prepare(device)
            _reasons[device] = None
        except GrammaskError as error:
            _reasons[device] = str(error)
    return _reasons[device]


def require(array: Any, what: str = "logits") -> int:
    """The CUDA device of an array on which the kernels can run; a GrammaskError otherwise."""
    device = device_of(array)
    if device is None:
        raise GrammaskError(
            f'backend "cuda" needs {what} on a CUDA device, but they are on '
            f"{getattr(array, 'device', 'the CPU')}"
        )
    reason = reason_against(device)
    if reason is not None:
        raise GrammaskError(f'backend "cuda" cannot be used: {reason}', code="unsupported")
    return device


def can_run(array: Any) -> bool:
    """Whether the kernels can run on an array's device."""
    device = device_of(array)
    return device is not None and reason_against(device) is None


def empty_like(logits: Any) -> Any:
    """A new array of the logits' shape, dtype, library and device."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(logits, torch.Tensor):
        return torch.empty_like(logits, memory_format=torch.contiguous_format)
    return _namespace(logits).empty_like(logits)


def apply(
    logits: Any,
    bitmask: Any,
    *,
    vocab_size: Optional[int] = None,
    vocab_offset: int = 0,
    indices: Optional[Any] = None,
    stream: Optional[int] = None,
    out: Optional[Any] = None,
) -> None:
    """apply_token_bitmask_inplace, or into out, by the CUDA kernel."""
    _core.apply_token_bitmask_cuda(
        logits, bitmask, vocab_size, vocab_offset, _rows(indices), stream, out
    )


def masked_argmax(
    logits: Any,
    bitmask: Any,
    *,
    vocab_size: Optional[int] = None,
    vocab_offset: int = 0,
    indices: Optional[Any] = None,
) -> Tuple[Any, Any]:
    """masked_argmax by the CUDA kernel: tokens (int64) and values (float32) on the device."""
    items = _item_count(logits, indices)
    tokens, values = _empty(logits, items, "int64"), _empty(logits, items, "float32")
    _core.masked_argmax_cuda(
        logits, bitmask, tokens, values, vocab_size, vocab_offset, _rows(indices)
    )
    return tokens, values


def masked_sample(
    logits: Any,
    bitmask: Any,
    *,
    seed: Any,
    offset: Any = 0,
    temperature: Any = 1.0,
    top_k: Any = 0,
    top_p: Any = 1.0,
    min_p: Any = 0.0,
    vocab_size: Optional[int] = None,
    indices: Optional[Any] = None,
) -> Any:
    """masked_sample by the CUDA kernel: tokens (int64) on the device.

    On torch's current stream, or the default one for other libraries, as results and settings are
    made there. Settings on the device (int64 seed, offset and top_k, float32 temperature, float64
    top_p and min_p, one a row) are used where they are, and not checked; others are checked here.
    """
    items = _item_count(logits, indices)
    tokens = _empty(logits, items, "int64")
    given = {
        "seed": seed,
        "offset": offset,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "min_p": min_p,
    }
    settings = _settings(logits, items, given)
    _core.masked_sample_cuda(logits, bitmask, tokens, *settings, vocab_size, _rows(indices))
    return tokens


_SETTING_TYPES = {
    "seed": "int64",
    "offset": "int64",
    "temperature": "float32",
    "top_k": "int64",
    "top_p": "float64",
    "min_p": "float64",
}


def _settings(logits: Any, items: int, given: Dict[str, Any]) -> "list[Any]":
    """Each setting as the kernel takes it: a number, or an array on the device."""
    host = {name: value for name, value in given.items() if device_of(value) is None}
    checked = _core.sampling_parameters(items, **{"seed": 0, **host})
    result = []
    for name, value in given.items():
        dtype = _SETTING_TYPES[name]
        if name not in host:
            result.append(value if _dtype_name(value) == dtype else _cast(value, dtype))
        elif _is_number(value):
            result.append(operator.index(value) if dtype == "int64" else float(value))
        else:
            result.append(_to_device(logits, checked[name], dtype))
    return result


def _is_number(value: Any) -> bool:
    return not isinstance(value, (list, tuple)) and getattr(value, "ndim", 0) == 0


def _dtype_name(array: Any) -> str:
    return str(array.dtype).rsplit(".", 1)[-1]


def _cast(array: Any, dtype: str) -> Any:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        return array.to(getattr(torch, dtype))
    return array.astype(dtype)


def _to_device(logits: Any, values: Any, dtype: str) -> Any:
    """NumPy values as an array of the logits' library on their device."""
    import numpy

    if values.dtype == numpy.uint64:
        values = values.view(numpy.int64)
    values = numpy.ascontiguousarray(values, dtype=dtype)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(logits, torch.Tensor):
        pinned = torch.from_numpy(values).pin_memory()  # so that copying does not wait
        return pinned.to(logits.device, non_blocking=True)
    return _namespace(logits).asarray(values)


def _empty(logits: Any, items: int, dtype: str) -> Any:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(logits, torch.Tensor):
        return torch.empty(items, dtype=getattr(torch, dtype), device=logits.device)
    return _namespace(logits).empty(items, dtype=dtype)


def _namespace(array: Any) -> Any:
    """The module of an array's library, by the array API standard."""
    find = getattr(array, "__array_namespace__", None)
    if find is None:
        raise GrammaskError(
            f"arrays of type {type(array).__name__} do not say how to make new ones; give a torch "
            "tensor (torch.from_dlpack makes one without copying)"
        )
    return find()


def _item_count(logits: Any, indices: Any) -> int:
    if indices is None:
        return int(logits.shape[0]) if len(logits.shape) == 2 else 1
    return len(indices)


def _rows(indices: Any) -> Any:
    """Row indices as the extension takes them: on the device as they are, else a list."""
    if indices is None or isinstance(indices, (list, tuple)) or device_of(indices) is not None:
        return indices
    return indices.tolist() if hasattr(indices, "tolist") else list(indices)
