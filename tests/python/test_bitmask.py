"""Allocating bitmasks, and the helpers of grammask.testing."""

import importlib.util
import subprocess
import sys

import numpy
import pytest

import grammask
from grammask import testing


def test_shape():
    assert grammask.get_bitmask_shape(2, 33) == (2, 2)
    assert grammask.get_bitmask_shape(0, 0) == (0, 0)
    assert grammask.get_bitmask_shape(3, 128256) == (3, 4008)


def test_allocate_and_reset():
    mask = grammask.allocate_token_bitmask(2, 33)
    assert tuple(mask.shape) == (2, 2) and bool((mask == -1).all())
    plain = isinstance(mask, numpy.ndarray)  # torch was not imported
    assert mask.dtype == (numpy.int32 if plain else grammask.bitmask_dtype)
    mask[0, 0] = 5
    grammask.reset_token_bitmask(mask)
    assert bool((mask == -1).all())
    plain = numpy.zeros((2, 2), dtype=numpy.int32)
    grammask.reset_token_bitmask(plain)
    assert (plain == -1).all()
    with pytest.raises(RuntimeError):
        grammask.allocate_token_bitmask(-1, 5)


def test_allocates_torch_once_it_is_imported():
    torch = pytest.importorskip("torch")
    mask = grammask.allocate_token_bitmask(1, 5)
    assert (
        isinstance(mask, torch.Tensor) and mask.dtype == torch.int32 and mask.device.type == "cpu"
    )
    assert grammask.bitmask_dtype is torch.int32


# Tensors that have no memory: nothing is asked of them.
def test_allocates_where_torch_traces():
    torch = pytest.importorskip("torch")
    with torch.device("meta"):
        assert grammask.allocate_token_bitmask(1, 100).device.type == "meta"
    with torch._subclasses.FakeTensorMode():
        assert tuple(grammask.allocate_token_bitmask(2, 100).shape) == (2, 4)
    allocate = torch.compile(
        lambda x: x + grammask.allocate_token_bitmask(1, 100).sum(), backend="eager", fullgraph=True
    )
    assert allocate(torch.ones(1)).item() == -3


def run(code):
    """Runs code in a process of its own, which has imported nothing yet."""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_allocates_numpy_without_torch():
    run("""
import sys
sys.modules["torch"] = None  # importing torch fails
import importlib.util
importlib.util.find_spec = lambda name, *rest, find=importlib.util.find_spec: (
    None if name == "torch" else find(name, *rest))
import grammask, numpy
mask = grammask.allocate_token_bitmask(2, 33)
assert type(mask) is numpy.ndarray and mask.dtype == numpy.int32 and (mask == -1).all()
assert grammask.bitmask_dtype is numpy.int32
logits = numpy.zeros((2, 33), dtype=numpy.float32)
mask[:] = 1
grammask.apply_token_bitmask_inplace(logits, mask)
assert logits[0, 0] == 0 and logits[0, 1] == float("-inf")
""")


# Where numpy.ndarray is looked up, a mask waits for it.
def test_what_a_bitmask_is_is_known_before_the_first_mask():
    run("""
import sys
import grammask, numpy
sys.modules.pop("torch", None)
mask = grammask.allocate_token_bitmask(2, 33)
del sys.modules["numpy"]
assert grammask._core._describe_tensor(mask, "numpy")["shape"] == [2, 2]
""")


# A program that has not imported torch gets no torch, and may go on as if it had.
def test_torch_is_imported_when_a_tensor_is_asked_for():
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    run("""
import pickle, sys
import grammask, numpy
from grammask.host_bitmask import HostBitmask

info = grammask.TokenizerInfo(["a", "b", "</s>"], stop_token_ids=[2])
matcher = grammask.GrammarMatcher(grammask.GrammarCompiler(info).compile_regex("a+"))
mask = grammask.allocate_token_bitmask(2, 3)
assert type(mask) is HostBitmask and isinstance(mask, numpy.ndarray) and mask.shape == (2, 1)
assert mask.dtype == numpy.int32 and bool((mask == -1).all())
assert matcher.fill_next_token_bitmask(mask, 1) and mask.tolist() == [[-1], [0b001]]
logits = numpy.zeros((2, 3), dtype=numpy.float32)
grammask.apply_token_bitmask_inplace(logits, mask)
assert numpy.isinf(logits).tolist() == [[False] * 3, [False, True, True]]
plain = mask.numpy()
assert type(plain) is numpy.ndarray and numpy.shares_memory(plain, mask)
assert type(mask[0].copy()) is HostBitmask and type(mask[0].numpy()) is numpy.ndarray
again = pickle.loads(pickle.dumps(mask))
assert type(again) is HostBitmask and (again == mask).all()
grammask.reset_token_bitmask(mask)
assert (mask == -1).all()
assert not hasattr(mask, "__cuda_array_interface__") and not hasattr(mask, "_no_such_name")
assert "torch" not in sys.modules, "none of this needs torch"

moved = mask.to("cpu")
torch = sys.modules["torch"]
assert isinstance(moved, torch.Tensor) and moved.dtype == torch.int32
assert mask.data_ptr() == mask.ctypes.data, "the tensor has the array's memory"
mask[0].fill_(7)
assert mask.tolist() == [[7], [-1]]
assert not hasattr(mask, "no_such_name")
masked = torch.zeros(2, 3)
grammask.apply_token_bitmask_inplace(masked, mask)
mask[:] = 1
grammask.apply_token_bitmask_inplace(masked, mask)
assert torch.isinf(masked).tolist() == [[False, True, True]] * 2
for backend in ("cpu", "torch_native"):
    masked = torch.zeros(2, 3)
    grammask.apply_token_bitmask_inplace(masked, mask, backend=backend)
    assert torch.isinf(masked).tolist() == [[False, True, True]] * 2, backend
assert isinstance(grammask.allocate_token_bitmask(2, 3), torch.Tensor)
""")


# Attributes are those of a tensor only where there can be one.
def test_host_bitmask_without_torch():
    run("""
import sys
sys.modules["torch"] = None  # importing torch fails
import numpy
from grammask.host_bitmask import HostBitmask
mask = numpy.full((1, 2), -1, dtype=numpy.int32).view(HostBitmask)
assert not hasattr(mask, "to") and mask.numpy().tolist() == [[-1, -1]]
try:
    mask.cuda()
except AttributeError as error:
    assert "cuda" in str(error) and "torch" in str(error), error
else:
    raise SystemExit("cuda() of no tensor")
""")


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_bool_masks(kind):
    generator = numpy.random.default_rng(0)
    for size in (1, 31, 32, 33, 100):
        bools = generator.random((3, size)) < 0.5
        if kind == "torch":
            bools = pytest.importorskip("torch").from_numpy(bools)
        packed = testing.bool_mask_to_bitmask(bools)
        assert tuple(packed.shape) == grammask.get_bitmask_shape(3, size)
        assert type(packed) is type(bools) and str(packed.dtype).endswith("int32")
        assert (testing.bitmask_to_bool_mask(packed, size) == bools).all()
        for token in range(size):
            word = int(packed[1, token >> 5])
            assert bool(word >> (token & 31) & 1) == bool(bools[1, token])
    assert tuple(testing.bitmask_to_bool_mask(packed).shape) == (3, 128)


def test_token_lists():
    mask = numpy.array([[0b101], [0b010]], dtype=numpy.int32)
    assert testing._get_masked_tokens_from_bitmask(mask, 5, 1) == [0, 2, 3, 4]
    assert testing._get_allowed_tokens_from_bitmask(mask, 5) == [0, 2]
    assert testing._is_single_token_bitmask(mask, 5, 0) == (False, -1)
    assert testing._is_single_token_bitmask(mask, 5, 1) == (True, 1)


def test_accept_string_helpers(tokenizer_info):
    assert testing._is_grammar_accept_string('root ::= "a"', "a")
    assert not testing._is_grammar_accept_string('root ::= "a" "b"', "a")
    assert testing._is_grammar_accept_string('root ::= "a" "b"', "a", require_termination=False)
    matcher = testing._get_matcher_from_grammar_and_tokenizer_info('root ::= "a"', tokenizer_info)
    assert matcher.accept_token(ord("a"))
    assert testing._get_matcher_from_grammar("root ::= [a]").accept_string("a")
    assert "root ::=" in testing._json_schema_to_ebnf({"type": "integer"})
    assert testing._regex_to_ebnf("a") == "root ::= " + testing._regex_to_ebnf("a", False)
