"""Choosing tokens from masked logits in one pass, without writing the logits back.

masked_argmax and masked_sample give what applying the mask and then choosing would give, but read
the mask where they read the logits. merge_argmax joins the results of tensor-parallel shards.
"""

from __future__ import annotations

import sys
from typing import Any, Optional, Sequence, Tuple, Union

from . import _core, _cuda
from .bitmask import _check_devices, _columns, _is_torch_tensor, _refused, _row_tensor
from .exception import GrammaskError

_PerRow = Union[float, Sequence[float], Any]


def masked_argmax(
    logits: Any,
    bitmask: Any,
    *,
    vocab_size: Optional[int] = None,
    vocab_offset: int = 0,
    indices: Optional[Union[Sequence[int], Any]] = None,
    return_values: bool = False,
) -> Any:
    """The allowed token with the largest logit, for each row.

    logits: float32, float16, bfloat16 or float64, of shape (rows, columns) or (columns,); never
        written. A torch tensor on any device, or a CPU array of NumPy, DLPack or the buffer
        protocol.
    bitmask: int32 of shape (rows, words) or (words,), on the same device.
    vocab_size: columns of the logits to look at; by default those that the bitmask covers.
    vocab_offset: the token of column 0, for a shard of the vocabulary: column c is governed by bit
        vocab_offset + c of the bitmask, which is that of the whole vocabulary. Any alignment.
    indices: rows, of both arrays, to work on; by default all, and both need as many.
    return_values: also return the logits chosen.

    Returns tokens, int64 of shape (rows,) or (len(indices),), counted from the vocabulary's start
    (vocab_offset + column); with return_values a tuple of these and float32 values of that shape.
    Torch tensors on the logits' device for torch logits, NumPy arrays otherwise. Of equal logits
    the lowest token wins; NaN never wins. A row with nothing to choose, as nothing is allowed or
    what is allowed is NaN, gives token -1 and value -inf.

    Raises GrammaskError for anything that does not fit. Releases the GIL on the CPU.
    """
    if _in_cpu_memory(logits, bitmask):
        tokens, values = _core.masked_argmax_cpu(
            logits, bitmask, vocab_size, vocab_offset, _host_list(indices)
        )
        result = _like(logits, tokens), _like(logits, values)
    else:
        kernel = _device_kernel("masked_argmax", logits)
        if kernel is not None:
            result = kernel(
                logits, bitmask, vocab_size=vocab_size, vocab_offset=vocab_offset, indices=indices
            )
        else:
            result = _argmax_torch(logits, bitmask, vocab_size, vocab_offset, indices)
    return result if return_values else result[0]


def merge_argmax(values: Any, tokens: Any) -> Any:
    """The argmax over all shards of a vocabulary, from the argmax of each.

    values: float, of shape (shards, rows); tokens: integers of the same shape: the results of
        masked_argmax on the shards, such as torch.distributed.all_gather collects them.

    Returns tokens of shape (rows,): of each row the token with the largest value, the lowest of
    equal ones; -1 where all shards have -1. Torch tensors give a torch tensor, NumPy arrays a NumPy
    array. Compared are values as they are given; float64 logits that differ by less than float32
    tells apart are equal here.
    """
    if getattr(values, "shape", None) != getattr(tokens, "shape", ()) or len(values.shape) != 2:
        raise GrammaskError(
            f"values are of shape {tuple(getattr(values, 'shape', ()))} and tokens of "
            f"{tuple(getattr(tokens, 'shape', ()))}; both must be of shape (shards, rows)"
        )
    if values.shape[0] == 0:
        raise GrammaskError("values and tokens hold no shard")
    if _is_torch_tensor(values):
        array = sys.modules["torch"]
    else:
        import numpy as array  # type: ignore[no-redef]
    none = tokens < 0
    most = array.iinfo(tokens.dtype).max
    best = array.amax(array.where(none, -float("inf"), values), 0)
    winner = ~none & (values == best)
    token = array.amin(array.where(winner, tokens, most), 0)
    return array.where(token == most, -1, token)


def masked_sample(
    logits: Any,
    bitmask: Any,
    *,
    seed: Union[int, Sequence[int], Any],
    offset: Union[int, Sequence[int], Any] = 0,
    temperature: _PerRow = 1.0,
    top_k: Union[int, Sequence[int], Any] = 0,
    top_p: _PerRow = 1.0,
    min_p: _PerRow = 0.0,
    vocab_size: Optional[int] = None,
    indices: Optional[Union[Sequence[int], Any]] = None,
) -> Any:
    """Draws one allowed token for each row.

    logits, bitmask, vocab_size, indices: as for masked_argmax. The logits are never written.
    seed, offset: integers in [0, 2**64). A row's draw depends on its seed, its offset (such as the
        number of the step) and its index in the logits only.
    temperature: at least 0; 0 is masked_argmax.
    top_k: keeps the logits that are at least the k-th largest allowed one; 0 keeps all, 1 is
        masked_argmax.
    top_p: in (0, 1]. Of those kept so far, keeps the fewest most probable whose probabilities sum
        to at least top_p, and what is as probable as the last of them.
    min_p: in [0, 1]. Keeps tokens of at least min_p times the largest probability.
    Each of these six is one value, or one for each row of the result (a list or array).

    The probabilities are softmax(logits / temperature) over the tokens kept; order and ties are
    those of the logits. The token is the first kept one, in the order of ids, at which the sum of
    exp((logit - largest) / temperature) exceeds u times the sum of all. u has 53 bits and is made
    by Philox4x32-10 from key (seed) and counter (offset, row). Logits of -inf and NaN have no
    weight; where there are +inf ones, the first of these is taken.

    Returns int64 tokens of shape (rows,) or (len(indices),); a torch tensor on the logits' device
    for torch logits, else a NumPy array. -1 where nothing allowed has a weight. A token returned is
    always an allowed one.

    Raises GrammaskError for anything that does not fit. Releases the GIL on the CPU.
    """
    if _in_cpu_memory(logits, bitmask):
        tokens = _core.masked_sample_cpu(
            logits,
            bitmask,
            seed,
            offset,
            temperature,
            top_k,
            top_p,
            min_p,
            vocab_size,
            _host_list(indices),
        )
        return _like(logits, tokens)
    parameters = {
        "seed": seed,
        "offset": offset,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "min_p": min_p,
    }
    kernel = _device_kernel("masked_sample", logits)
    if kernel is not None:
        return kernel(logits, bitmask, vocab_size=vocab_size, indices=indices, **parameters)
    return _sample_torch(logits, bitmask, vocab_size, indices, parameters)


def _in_cpu_memory(logits: Any, bitmask: Any) -> bool:
    if not _is_torch_tensor(logits):
        return _cuda.device_of(logits) is None
    _check_devices(logits, bitmask)
    return bool(logits.device.type == "cpu")


def _host_list(indices: Any) -> Any:
    return indices.tolist() if _is_torch_tensor(indices) else indices


def _like(logits: Any, result: Any) -> Any:
    return sys.modules["torch"].from_numpy(result) if _is_torch_tensor(logits) else result


def _device_kernel(name: str, logits: Any) -> Any:
    """This library's kernel of that name for the logits' device, or None: torch operations."""
    if _is_torch_tensor(logits) and not _cuda.can_run(logits):
        return None
    _cuda.require(logits)
    return getattr(_cuda, name)


def _masked_rows(
    logits: Any, bitmask: Any, vocab_size: Optional[int], vocab_offset: int, indices: Any
) -> Tuple[Any, Any, Any]:
    """Rows of logits, which of them are out of the question, and the rows' numbers."""
    torch = sys.modules["torch"]
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
        rows = torch.arange(logits.shape[0])
    else:
        rows = _row_tensor(torch, logits, bitmask, indices)
        logits, bitmask = logits[rows], bitmask[rows]
    refused = _refused(torch, bitmask, vocab_offset, columns)
    logits = logits[:, :columns]
    return logits, refused | logits.isnan(), rows


def _argmax_torch(
    logits: Any, bitmask: Any, vocab_size: Optional[int], vocab_offset: int, indices: Any
) -> Tuple[Any, Any]:
    torch = sys.modules["torch"]
    logits, out, _ = _masked_rows(logits, bitmask, vocab_size, vocab_offset, indices)
    columns = logits.shape[1]
    if columns == 0:
        none = torch.full((logits.shape[0],), -1, device=logits.device)
        return none, torch.full(none.shape, -float("inf"), device=logits.device)
    x = logits.masked_fill(out, -float("inf"))
    best = x.max(1, keepdim=True).values
    ids = torch.arange(columns, device=logits.device)
    token = torch.where(~out & (x == best), ids, columns).min(1).values
    return torch.where(token == columns, -1, token + vocab_offset), best[:, 0].float()


def _sample_torch(
    logits: Any,
    bitmask: Any,
    vocab_size: Optional[int],
    indices: Any,
    parameters: "dict[str, Any]",
) -> Any:
    """The plain sequence: sort, softmax, cumulative sums. The generator runs on the CPU."""
    torch = sys.modules["torch"]
    greedy, _ = _argmax_torch(logits, bitmask, vocab_size, 0, indices)
    logits, out, rows = _masked_rows(logits, bitmask, vocab_size, 0, indices)
    host = _core.sampling_parameters(len(rows), **parameters)
    uniform = _core.sampling_uniforms(host["seed"], host["offset"], rows.tolist())
    if logits.shape[1] == 0 or logits.shape[0] == 0:
        return greedy

    def column(values: Any) -> Any:
        return torch.from_numpy(values).to(logits.device).unsqueeze(1)

    temperature, top_p, min_p = (column(host[k]) for k in ("temperature", "top_p", "min_p"))
    top_k = column(host["top_k"])
    wide = torch.float64 if logits.dtype == torch.float64 else torch.float32
    x = logits.to(wide).masked_fill(out, -float("inf"))
    ordered = x.sort(1, descending=True).values
    largest = ordered[:, :1]
    k = torch.where(top_k == 0, x.shape[1], top_k).clamp(max=x.shape[1])
    floor = ordered.gather(1, k - 1)

    def weights(values: Any) -> Any:
        w = ((values - largest) / temperature.to(wide)).exp().double().nan_to_num(0.0)
        return w.masked_fill(values < floor, 0.0)

    sums = weights(ordered).cumsum(1)
    enough = (sums < top_p * sums[:, -1:]).sum(1, keepdim=True).clamp(max=x.shape[1] - 1)
    floor = torch.maximum(floor, ordered.gather(1, enough))
    w = weights(x)
    w = w.masked_fill(w < min_p, 0.0)
    sums = w.cumsum(1)
    token = (sums <= column(uniform) * sums[:, -1:]).sum(1)
    ids = torch.arange(x.shape[1], device=x.device)
    last = torch.where(w > 0, ids, -1).max(1).values
    token = torch.minimum(token, last)
    plain = (temperature[:, 0] == 0) | (top_k[:, 0] == 1) | (largest[:, 0] == float("inf"))
    return torch.where(plain, greedy, token)
