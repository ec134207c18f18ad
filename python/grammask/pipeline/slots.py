"""The memory of a MaskPipeline's masks: one slot for each step that is under way.

On the CPU a slot is a bitmask. With CUDA it is a bitmask in pinned memory and one on the device:

    before filling                 side stream                 the caller's stream
    reuse: wait until the last     send: wait until the last   receive: wait until the copy is
      copy has read the pinned       apply has read the          done, then apply, then note that
      one                            device's one, then copy     it has read

All waiting but the first is done by the device; the caller's thread never waits for it. Slots take
turns, so with two of them no wait is for the step just before.

The module torch is an argument, so that tests can watch the order of these calls without a GPU:
tests/python/test_pipeline.py.
"""

from __future__ import annotations

from typing import Any, List, Tuple

from ..bitmask import allocate_token_bitmask
from ..exception import GrammaskError


class HostSlot:
    """A bitmask in CPU memory."""

    def __init__(self, rows: int, columns: int) -> None:
        self.mask = allocate_token_bitmask(rows, columns)

    def ready(self) -> bool:
        """Whether reuse() need not wait."""
        return True

    def reuse(self) -> None:
        """Before the mask is written."""

    def send(self, rows: int) -> None:
        """The pipeline's thread: the first `rows` rows are written."""

    def receive(self, rows: int) -> Any:
        """The caller's thread: those rows where the logits are."""
        return self.mask[:rows]

    def applied(self) -> None:
        """The caller's thread: what reads them has been started."""


class CudaSlot:
    """A bitmask in pinned memory and one on a CUDA device. See the head of this file."""

    def __init__(self, torch: Any, device: Any, stream: Any, rows: int, columns: int) -> None:
        self._torch, self._device, self._stream = torch, device, stream
        shape = (rows, -(-columns // 32))
        self.mask = torch.empty(shape, dtype=torch.int32, pin_memory=True)
        self._there = torch.empty(shape, dtype=torch.int32, device=device)
        # The allocator may have given memory that the current stream still works on.
        stream.wait_stream(torch.cuda.current_stream(device))
        self._there.record_stream(stream)  # nor gives it away while the side stream works on it
        self._copied = torch.cuda.Event()
        self._applied = torch.cuda.Event()
        self._was_copied = self._was_applied = False

    def ready(self) -> bool:
        return not self._was_copied or self._copied.query()

    def reuse(self) -> None:
        if self._was_copied:
            self._copied.synchronize()

    def send(self, rows: int) -> None:
        with self._torch.cuda.device(self._device), self._torch.cuda.stream(self._stream):
            if self._was_applied:
                self._stream.wait_event(self._applied)
            self._there[:rows].copy_(self.mask[:rows], non_blocking=True)
            self._copied.record(self._stream)
        self._was_copied = True

    def receive(self, rows: int) -> Any:
        current = self._torch.cuda.current_stream(self._device)
        current.wait_event(self._copied)
        self._there.record_stream(current)
        return self._there[:rows]

    def applied(self) -> None:
        self._applied.record(self._torch.cuda.current_stream(self._device))
        self._was_applied = True


def make_slots(count: int, rows: int, columns: int, device: Any) -> Tuple[List[Any], str]:
    """Slots for the masks of as many steps, and the device's full name."""
    kind = getattr(device, "type", None) or str(device).split(":", maxsplit=1)[0]
    if kind == "cpu":
        return [HostSlot(rows, columns) for _ in range(count)], "cpu"
    if kind != "cuda":
        raise GrammaskError(f'device is {device!r}; it must be "cpu" or a CUDA device')
    import torch

    if not torch.cuda.is_available():
        raise GrammaskError(
            f"device is {device!r}, but torch finds no CUDA device here",
            code="failed_precondition",
        )
    device = torch.device(device)
    if device.index is None:
        device = torch.device("cuda", torch.cuda.current_device())
    stream = torch.cuda.Stream(device)
    slots = [CudaSlot(torch, device, stream, rows, columns) for _ in range(count)]
    return slots, str(device)


class TokenCopy:
    """Token ids on their way from a CUDA device to the pipeline's thread."""

    def __init__(self, torch: Any, tokens: Any) -> None:
        self._ids = torch.empty(tokens.shape, dtype=tokens.dtype, pin_memory=True)
        self._ids.copy_(tokens, non_blocking=True)
        self._done = torch.cuda.Event()
        self._done.record(torch.cuda.current_stream(tokens.device))

    def __call__(self) -> List[Any]:
        self._done.synchronize()
        return self._ids.tolist()
