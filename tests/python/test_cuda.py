"""The CUDA path: without a GPU in a process of its own (cuda_cases.py), and on a GPU."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

import grammask
from grammask import _core, _cuda

ROOT = Path(__file__).resolve().parents[2]
INF = float("inf")


def test_without_a_gpu(tmp_path):
    compiler = shutil.which(os.environ.get("CXX", "c++")) or shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler to build the library in place of the driver")
    library = tmp_path / "libcuda_fake.so"
    sources = sorted(str(path) for path in (ROOT / "tests/kernels/cuda_host").glob("*.cc"))
    folders = [f"-I{ROOT / folder}" for folder in ("cpp", "include", "tests")]
    subprocess.run(
        [compiler, "-std=c++20", "-O1", "-shared", "-fPIC", *folders, *sources, "-o", str(library)],
        check=True,
    )
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull]
        + ["--rootdir", str(ROOT), str(Path(__file__).with_name("cuda_cases.py"))],
        env={**os.environ, "GRAMMASK_CUDA_DRIVER": str(library)},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout[-8000:] + result.stderr[-2000:]


def test_importing_loads_no_driver():
    code = """
import grammask, numpy
grammask.apply_token_bitmask_inplace(numpy.zeros((1, 5), "f4"), numpy.zeros((1, 1), "i4"))
assert "libcuda" not in open("/proc/self/maps").read()
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_reasons_say_what_is_missing():
    code = """
import grammask
from grammask import _core, _cuda
reason = _cuda.reason_against(0)
assert "driver cannot be loaded" in reason and "libnone" in reason, reason
"""
    environment = {**os.environ, "GRAMMASK_CUDA_DRIVER": "libnone.so"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    with pytest.raises(ValueError, match="on a CUDA device"):
        grammask.apply_token_bitmask_inplace(
            numpy.zeros((1, 5), "f4"), numpy.zeros((1, 1), "i4"), backend="cuda"
        )


# --- on a GPU -------------------------------------------------------------------------------------


@pytest.fixture
def torch():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    if _core.cuda_image_size() == 0:
        pytest.skip("grammask was built without CUDA kernels")
    assert _cuda.reason_against(torch.cuda.current_device()) is None
    return torch


def random_case(torch, rows, columns, dtype="float32", seed=0):
    generator = torch.Generator().manual_seed(seed)
    logits = (torch.randn(rows, columns, generator=generator) * 3).to(getattr(torch, dtype))
    logits[:, ::97], logits[:, 5::89] = -INF, float("nan")
    words = -(-columns // 32)
    mask = torch.randint(
        -(2**31), 2**31, (rows, words), dtype=torch.int64, generator=generator
    ).int()
    mask[0], mask[-1] = -1, 0
    return logits, mask


def bits(tensor):
    return tensor.contiguous().view(-1).cpu().view(dtype=getattr(sys.modules["torch"], "uint8"))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
@pytest.mark.parametrize("columns", [1, 31, 1000, 128256, 151643])
@pytest.mark.parametrize("backend", ["cuda", "triton", "torch_native"])
def test_apply_on_a_gpu(torch, dtype, columns, backend):
    logits, mask = random_case(torch, 5, columns + 7, dtype)
    for shift in range(8):
        want, given = logits.clone(), logits.cuda()
        end = columns + 7 - shift
        rows = [4, 0, 2] if shift % 2 else None
        options = {"vocab_offset": shift, "indices": rows}
        grammask.apply_token_bitmask_inplace(want[:, shift:], mask, vocab_size=end, **options)
        if rows is not None and shift % 4 == 1:
            options["indices"] = torch.tensor(rows, device="cuda")
        view = given[:, shift:]
        grammask.apply_token_bitmask_inplace(
            view, mask.cuda(), vocab_size=end, backend=backend, **options
        )
        assert torch.equal(bits(given), bits(want)), (shift, rows)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
@pytest.mark.parametrize("columns", [128256, 151643])
def test_many_rows_on_a_gpu(torch, dtype, columns):
    logits, mask = random_case(torch, 300, columns, dtype)
    mask[100:200, 70:500], mask[150:250, 1000:2000] = -1, 0  # whole runs of words allowed, refused
    given = logits.cuda()
    grammask.apply_token_bitmask_inplace(given, mask.cuda(), backend="cuda")
    grammask.apply_token_bitmask_inplace(logits, mask)
    assert torch.equal(bits(given), bits(logits))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
@pytest.mark.parametrize("rows", [1, 3, 64, 300])
def test_choosing_on_a_gpu(torch, dtype, rows):
    logits, mask = random_case(torch, rows, 50257, dtype)
    on_gpu = logits.cuda(), mask.cuda()
    for got, want in zip(
        grammask.masked_argmax(*on_gpu, return_values=True),
        grammask.masked_argmax(logits, mask, return_values=True),
    ):
        assert torch.equal(got.cpu(), want)
    for settings in (
        {},
        {"temperature": 0.7, "top_k": 50},
        {"top_p": 0.9, "min_p": 0.01},
        {"temperature": torch.linspace(0, 2, rows).tolist(), "top_k": [7] * rows, "top_p": 0.5},
    ):
        tokens = grammask.masked_sample(*on_gpu, seed=3, offset=1, **settings).cpu()
        want = grammask.masked_sample(logits, mask, seed=3, offset=1, **settings)
        # The same draws; rounding may tell them apart where one falls between two tokens.
        assert (tokens != want).sum() <= 1 + rows // 100


@pytest.mark.gpu
def test_out_of_place_on_a_gpu(torch):
    logits, mask = random_case(torch, 4, 1001)
    given = logits.cuda()
    out = grammask.apply_token_bitmask(given, mask.cuda())
    assert torch.equal(bits(given), bits(logits))
    grammask.apply_token_bitmask_inplace(logits, mask)
    assert torch.equal(bits(out), bits(logits))


@pytest.mark.gpu
def test_a_graph_on_a_gpu(torch):
    logits, mask = random_case(torch, 8, 128256)
    logits = logits.nan_to_num(0.0)
    given, given_mask = logits.cuda(), mask.cuda()
    grammask.masked_argmax(given, given_mask)  # allocations that torch makes once
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        grammask.apply_token_bitmask_inplace(given, given_mask)
        tokens = grammask.masked_argmax(given, given_mask)
        drawn = grammask.masked_sample(given, given_mask, seed=1, temperature=0.5)
    for seed in (1, 2):
        logits, mask = random_case(torch, 8, 128256, seed=seed)
        given.copy_(logits)
        given_mask.copy_(mask)
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(tokens.cpu(), grammask.masked_argmax(logits, mask))
        want = grammask.masked_sample(logits, mask, seed=1, temperature=0.5)
        assert (drawn.cpu() != want).sum() <= 1
        grammask.apply_token_bitmask_inplace(logits, mask)
        assert torch.equal(bits(given), bits(logits))


@pytest.mark.gpu
def test_streams_on_a_gpu(torch):
    logits, mask = random_case(torch, 64, 128256)
    given, given_mask = logits.cuda(), mask.cuda()
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    grammask.apply_token_bitmask_inplace(given, given_mask, stream=stream.cuda_stream)
    stream.synchronize()
    grammask.apply_token_bitmask_inplace(logits, mask)
    assert torch.equal(bits(given), bits(logits))
    if torch.cuda.device_count() > 1:
        other = torch.cuda.Stream(device=1)
        with pytest.raises(ValueError, match="another device"):
            grammask.apply_token_bitmask_inplace(given, given_mask, stream=other.cuda_stream)
