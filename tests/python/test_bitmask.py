"""Allocating bitmasks, and the helpers of grammask.testing."""

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
    assert mask.dtype == grammask.bitmask_dtype
    mask[0, 0] = 5
    grammask.reset_token_bitmask(mask)
    assert bool((mask == -1).all())
    plain = numpy.zeros((2, 2), dtype=numpy.int32)
    grammask.reset_token_bitmask(plain)
    assert (plain == -1).all()
    with pytest.raises(RuntimeError):
        grammask.allocate_token_bitmask(-1, 5)


def test_allocates_torch_where_there_is_torch():
    torch = pytest.importorskip("torch")
    mask = grammask.allocate_token_bitmask(1, 5)
    assert (
        isinstance(mask, torch.Tensor) and mask.dtype == torch.int32 and mask.device.type == "cpu"
    )
    assert grammask.bitmask_dtype is torch.int32


def test_allocates_numpy_without_torch():
    code = """
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
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


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
