"""Bitmasks of programs that have not imported torch: NumPy arrays that become tensors on demand."""

from __future__ import annotations

from typing import Any

import numpy


class HostBitmask(numpy.ndarray):
    """An int32 NumPy array that has the attributes of a torch tensor, too.

    What only a tensor has, such as `to("cuda")`, `cuda()`, `fill_(-1)` and `data_ptr()`, is that of
    `tensor()`, so torch is imported when the first of these is asked for, which takes a second and
    200 MB, and not before. What both have is NumPy's: `shape`, `dtype`, `size`, indices, operators.
    Slices and copies are of this class as well; pickled, it needs grammask to be read.

    Thread-safety: as NumPy's. Raises AttributeError where neither has the attribute, or where torch
    cannot be imported.
    """

    def numpy(self) -> "numpy.ndarray[Any, Any]":
        """The same memory as a plain array."""
        return self.view(numpy.ndarray)

    def tensor(self) -> Any:
        """The same memory as a torch tensor; ImportError where torch cannot be imported."""
        import torch

        return torch.from_numpy(self.numpy())

    def __getattr__(self, name: str) -> Any:
        # Only for what ndarray lacks. Names of protocols are asked for of any object, mostly in
        # vain.
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        try:
            tensor = self.tensor()
        except (ImportError, OSError, TypeError) as error:
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}, and no torch tensor "
                f"can be made of it: {error}"
            ) from error
        return getattr(tensor, name)
