"""Adapters to other libraries, each imported when it is first used:

grammask.contrib.hf    a LogitsProcessor for generate() of transformers
"""

from typing import Any


def __getattr__(name: str) -> Any:
    if name == "hf":
        import importlib

        return importlib.import_module(".hf", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
