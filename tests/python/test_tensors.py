"""Bitmasks of every kind of array, and the refusal of those that do not fit."""

import array

import numpy
import pytest

import grammask
from grammask import _core

VOCAB = 70
WORDS = 3


@pytest.fixture(scope="module")
def matcher():
    tokens = [chr(ord("0") + i) for i in range(VOCAB - 1)] + ["</s>"]
    info = grammask.TokenizerInfo(tokens, stop_token_ids=[VOCAB - 1])
    return grammask.GrammarMatcher(grammask.GrammarCompiler(info).compile_regex("[0-9]+"))


@pytest.fixture(scope="module")
def expected(matcher):
    row = numpy.zeros(WORDS, dtype=numpy.int32)
    matcher.fill_next_token_bitmask(row)
    assert row.tolist() == [0b1111111111, 0, 0]
    return row.tolist()


def test_numpy(matcher, expected):
    mask = numpy.full((3, WORDS), -1, dtype=numpy.int32)
    assert matcher.fill_next_token_bitmask(mask, 2)
    assert mask[2].tolist() == expected and (mask[:2] == -1).all()


def test_numpy_views(matcher, expected):
    base = numpy.full((6, WORDS + 2), -1, dtype=numpy.int32)
    matcher.fill_next_token_bitmask(base[::2, 1:-1], 1)
    assert base[2].tolist() == [-1] + expected + [-1]
    assert (numpy.delete(base, 2, axis=0) == -1).all()
    base[:] = -1
    matcher.fill_next_token_bitmask(base[::-1, :WORDS], 0)
    assert base[5, :WORDS].tolist() == expected and (base[:5] == -1).all()


def test_numpy_subclass_and_buffers(matcher, expected):
    class Special(numpy.ndarray):
        pass

    special = numpy.full((1, WORDS), -1, dtype=numpy.int32).view(Special)
    matcher.fill_next_token_bitmask(special)
    assert special[0].tolist() == expected
    plain = array.array("i", [-1] * WORDS)
    matcher.fill_next_token_bitmask(plain)
    assert plain.tolist() == expected
    view = memoryview(bytearray(4 * WORDS)).cast("i")
    matcher.fill_next_token_bitmask(view)
    assert view.tolist() == expected


def test_index_forms(matcher, expected):
    mask = numpy.full((3, WORDS), -1, dtype=numpy.int32)
    for index in (numpy.int64(1), True):
        mask[:] = -1
        matcher.fill_next_token_bitmask(mask, index)
        assert mask[1].tolist() == expected
    matcher.fill_next_token_bitmask(bitmask=mask, index=2)
    for index in ("1", 1.0, None):
        with pytest.raises(TypeError):
            matcher.fill_next_token_bitmask(mask, index)


def read_only(mask):
    mask.flags.writeable = False
    return mask


def unaligned():
    memory = numpy.zeros(4 * WORDS + 1, dtype=numpy.uint8)
    return memory[1:].view(numpy.int32)[None]


def full(*shape, dtype=numpy.int32):
    return numpy.full(shape, 77, dtype=dtype)


@pytest.mark.parametrize(
    "mask, index, message",
    [
        (full(3, WORDS), 3, "3 rows"),
        (full(3, WORDS), -1, "index is -1"),
        (full(WORDS), 1, "1 rows"),
        (full(3, WORDS + 1), 0, "exactly 3"),
        (full(3, WORDS - 1), 0, "exactly 3"),
        (full(WORDS + 1), 0, "exactly 3"),
        (full(1, 3, WORDS), 0, "3 dimensions"),
        (numpy.int32(5) * numpy.ones((), dtype=numpy.int32), 0, None),
        (full(3, WORDS, dtype=numpy.int64), 0, "int32"),
        (full(3, WORDS, dtype=numpy.uint32), 0, "int32"),
        (full(3, WORDS, dtype=numpy.float32), 0, "int32"),
        (full(3, WORDS, dtype=">i4"), 0, "int32"),
        (full(WORDS, 3).T, 0, "next to each other"),
        (full(3, 2 * WORDS)[:, ::2], 0, "next to each other"),
        (read_only(full(3, WORDS)), 0, "read-only"),
        (unaligned(), 0, "aligned"),
        (memoryview(bytes(4 * WORDS)).cast("i"), 0, "read-only"),
        (full(0, WORDS), 0, "0 rows"),
    ],
)
def test_unsuitable_arrays(matcher, mask, index, message):
    before = None if message is None else bytes(memoryview(mask).tobytes())
    with pytest.raises((RuntimeError, TypeError), match=message):
        matcher.fill_next_token_bitmask(mask, index)
    assert message is None or bytes(memoryview(mask).tobytes()) == before


@pytest.mark.parametrize("mask", [[1, 2, 3], None, 5, "abc", object(), numpy.int32])
def test_no_array_at_all(matcher, mask):
    with pytest.raises((TypeError, RuntimeError)):
        matcher.fill_next_token_bitmask(mask)


class DlpackOnly:
    """An array of some other library: nothing but the protocol."""

    def __init__(self, values, versioned=True, device=None):
        self.values, self.versioned, self.device = values, versioned, device

    def __dlpack_device__(self):
        return self.device or self.values.__dlpack_device__()

    def __dlpack__(self, **options):
        if options and not self.versioned:
            raise TypeError("no such keyword")
        return self.values.__dlpack__(**options)


@pytest.mark.parametrize("versioned", [False, True])
def test_dlpack(matcher, expected, versioned):
    mask = numpy.full((2, WORDS), -1, dtype=numpy.int32)
    matcher.fill_next_token_bitmask(DlpackOnly(mask, versioned), 1)
    assert mask[1].tolist() == expected and (mask[0] == -1).all()


def test_dlpack_refusals(matcher):
    with pytest.raises(RuntimeError, match="device"):
        matcher.fill_next_token_bitmask(DlpackOnly(full(1, WORDS), device=(2, 0)))
    mask = read_only(full(1, WORDS))
    with pytest.raises((RuntimeError, BufferError)):
        matcher.fill_next_token_bitmask(DlpackOnly(mask))
    assert (mask == 77).all()


def test_torch(matcher, expected):
    torch = pytest.importorskip("torch")
    mask = torch.full((3, WORDS), -1, dtype=torch.int32)
    assert matcher.fill_next_token_bitmask(mask, 1)
    assert mask[1].tolist() == expected and bool((mask[0] == -1).all())
    row = torch.full((WORDS,), -1, dtype=torch.int32)
    matcher.fill_next_token_bitmask(row)
    assert row.tolist() == expected
    wide = torch.full((4, 2 * WORDS), -1, dtype=torch.int32)
    matcher.fill_next_token_bitmask(wide[::2, 1 : 1 + WORDS], 1)
    assert wide[2].tolist() == [-1] + expected + [-1] * (WORDS - 1)
    parameter = torch.nn.Parameter(mask.clone(), requires_grad=False)
    matcher.fill_next_token_bitmask(parameter, 0)
    assert parameter[0].tolist() == expected


def test_torch_refusals(matcher):
    torch = pytest.importorskip("torch")
    for mask, index in (
        (torch.full((2, WORDS), 77, dtype=torch.int64), 0),
        (torch.full((2, WORDS + 1), 77, dtype=torch.int32), 0),
        (torch.full((2, WORDS), 77, dtype=torch.int32), 2),
        (torch.full((2, WORDS), 77, dtype=torch.int32), -1),
        (torch.full((WORDS, 2), 77, dtype=torch.int32).t(), 0),
        (torch.full((1, 2, WORDS), 77, dtype=torch.int32), 0),
    ):
        with pytest.raises(RuntimeError):
            matcher.fill_next_token_bitmask(mask, index)
        assert bool((mask == 77).all())
    with pytest.raises((RuntimeError, BufferError)):
        matcher.fill_next_token_bitmask(torch.empty((2, WORDS), dtype=torch.int32, device="meta"))


@pytest.mark.parametrize("route", ["exchange", "torch", "dlpack", "auto"])
def test_every_route_sees_a_torch_tensor_alike(route):
    torch = pytest.importorskip("torch")
    if route == "exchange" and not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        pytest.skip("this torch offers no DLPack exchange table")
    base = torch.zeros((4, 10))
    for dtype in ("int32", "float16", "bfloat16", "float32", "float64", "int64"):
        for tensor in (
            base,
            base[1:],
            base[:, 2:],
            base[::2, ::3],
            base[0],
            base[0, 0],
            base[None],
        ):
            tensor = tensor.to(getattr(torch, dtype)) if dtype != "float32" else tensor
            found = _core._describe_tensor(tensor, route)
            assert found["dtype"] == (dtype if dtype != "int64" else "other")
            assert found["ndim"] == tensor.dim() and found["on_cpu"] and found["writable"]
            kept = min(2, tensor.dim())
            assert found["shape"] == list(tensor.shape)[:kept]
            assert found["strides"] == list(tensor.stride())[:kept]
            assert found["address"] == tensor.data_ptr()


@pytest.mark.parametrize("route", ["numpy", "buffer", "dlpack", "auto"])
def test_every_route_sees_a_numpy_array_alike(route):
    base = numpy.zeros((4, 10))
    for dtype in ("int32", "float16", "float32", "float64", "int64"):
        typed = base.astype(dtype)
        for values in (typed, typed[1:], typed[::2, ::3], typed[0], typed[::-1], typed[None]):
            found = _core._describe_tensor(values, route)
            assert found["dtype"] == (dtype if dtype != "int64" else "other")
            assert found["ndim"] == values.ndim and found["on_cpu"] and found["writable"]
            kept = min(2, values.ndim)
            assert found["shape"] == list(values.shape)[:kept]
            if dtype != "int64":
                for axis in range(kept):
                    if values.shape[axis] > 1:  # of one row the stride means nothing
                        assert found["strides"][axis] == values.strides[axis] // values.itemsize
            assert found["address"] == values.__array_interface__["data"][0]


def test_bfloat16_numpy():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    found = _core._describe_tensor(numpy.zeros((2, 3), dtype=ml_dtypes.bfloat16))
    assert found["dtype"] == "bfloat16" and found["strides"] == [3, 1]


def test_borrowing_leaks_nothing():
    import gc
    import sys

    values = numpy.zeros((2, 3), dtype=numpy.int32)
    gc.collect()
    before = sys.getrefcount(values)
    for route in ("numpy", "buffer", "dlpack", "auto"):
        for _ in range(50):
            _core._describe_tensor(values, route)
    gc.collect()
    assert sys.getrefcount(values) == before
