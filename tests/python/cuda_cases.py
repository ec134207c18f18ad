"""The CUDA path without a GPU: run by test_cuda.py with a library in place of the driver.

Arrays "on CUDA device n" are NumPy arrays whose DLPack says so; kernels run on the host with the
parameters that they were launched with. Compared with the CPU kernels, bit for bit.
"""

import ctypes
import os

import numpy
import pytest

import grammask
from grammask import _core, _cuda

FAKE = ctypes.CDLL(os.environ["GRAMMASK_CUDA_DRIVER"])
INF = float("inf")


class Launch(ctypes.Structure):
    _fields_ = [
        ("blocks", ctypes.c_uint32),
        ("threads", ctypes.c_uint32),
        ("team", ctypes.c_uint32),
        ("rows", ctypes.c_uint32),
        ("device", ctypes.c_int32),
        ("stream", ctypes.c_uint64),
        ("name", ctypes.c_char * 64),
    ]


def launches():
    found = []
    for index in range(FAKE.fake_cuda_launches()):
        launch = Launch()
        assert FAKE.fake_cuda_launch(index, ctypes.byref(launch)) == 0
        found.append(launch)
    return found


class Tensor(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    ]


NewCapsule = ctypes.pythonapi.PyCapsule_New
NewCapsule.restype = ctypes.py_object
NewCapsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class OnCuda:
    """A NumPy array that says it is on a CUDA device. bfloat16: an array of uint16."""

    streams = []

    def __init__(self, array, device=0, bfloat=False, read_only=False):
        self.array, self.index, self.bfloat = array, device, bfloat
        self.shape, self.dtype, self.read_only = array.shape, array.dtype, read_only

    def __dlpack_device__(self):
        return (2, self.index)

    def __dlpack__(self, stream=None, max_version=None):
        self.streams.append(stream)
        sizes = ctypes.c_int64 * self.array.ndim
        self.kept = [
            sizes(*self.array.shape),
            sizes(*(s // self.array.itemsize for s in self.array.strides)),
        ]
        tensor = Tensor(1, 0, None, None, 1 if self.read_only else 0, self.array.ctypes.data)
        tensor.device_type, tensor.device_id, tensor.ndim = 2, self.index, self.array.ndim
        tensor.code = 4 if self.bfloat else {"f": 2, "i": 0, "u": 1}[self.array.dtype.kind]
        tensor.bits, tensor.lanes = self.array.itemsize * 8, 1
        tensor.shape, tensor.strides = (ctypes.addressof(k) for k in self.kept)
        self.kept.append(tensor)
        return NewCapsule(ctypes.addressof(tensor), b"dltensor_versioned", None)

    def __len__(self):
        return len(self.array)

    def __array_namespace__(self):
        index = self.index

        class Namespace:
            @staticmethod
            def empty(shape, dtype):
                return OnCuda(numpy.full(shape, 77, dtype), index)

            @staticmethod
            def empty_like(like):
                return OnCuda(numpy.full_like(like.array, 77), index, like.bfloat)

            @staticmethod
            def asarray(values):
                return OnCuda(numpy.array(values), index)

        return Namespace


def case(seed, rows=5, columns=301, dtype="float32"):
    generator = numpy.random.default_rng(seed)
    logits = (generator.standard_normal((rows, columns)) * 3).astype(dtype)
    special = generator.random((rows, columns))
    logits[special < 0.02], logits[special > 0.97] = -INF, numpy.nan
    words = -(-columns // 32)
    mask = generator.integers(-(2**31), 2**31, size=(rows, words)).astype(numpy.int32)
    mask[0], mask[1] = -1, 0
    return logits, mask


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
@pytest.mark.parametrize("backend", ["auto", "cuda"])
@pytest.mark.parametrize(
    "indices", [None, [2], (3, 0), [], numpy.array([1, 4]), "int32", "int64"]
)
def test_apply_is_that_of_the_cpu(dtype, backend, indices):
    logits, mask = case(1, dtype=dtype)
    want = logits.copy()
    rows = indices
    if isinstance(indices, str):
        rows = [4, 1, 2]
        indices = OnCuda(numpy.array(rows + [-1, 99], dtype=indices))
    grammask.apply_token_bitmask_inplace(want, mask, indices=rows, backend="cpu")
    grammask.apply_token_bitmask_inplace(
        OnCuda(logits), OnCuda(mask), indices=indices, backend=backend
    )
    assert logits.tobytes() == want.tobytes()


@pytest.mark.parametrize("shift", range(8))
@pytest.mark.parametrize("vocab_offset", [0, 1, 31, 45, 64])
def test_shards_of_any_alignment(shift, vocab_offset):
    logits, mask = case(2, columns=320)
    end = 320 - vocab_offset
    for dtype in (numpy.float32, numpy.float16):
        memory = numpy.zeros((5, 360), dtype)
        memory[:, shift : shift + 320] = logits
        want = memory.copy()
        here, there = memory[:, shift : shift + end], want[:, shift : shift + end]
        grammask.apply_token_bitmask_inplace(OnCuda(here), OnCuda(mask), vocab_offset=vocab_offset)
        grammask.apply_token_bitmask_inplace(there, mask, vocab_offset=vocab_offset)
        assert memory.tobytes() == want.tobytes()
        tokens = grammask.masked_argmax(OnCuda(here), OnCuda(mask), vocab_offset=vocab_offset)
        expected = grammask.masked_argmax(here, mask, vocab_offset=vocab_offset)
        assert tokens.array.tolist() == expected.tolist()


def test_bfloat16():
    logits, mask = case(3)
    bits = (logits.view(numpy.uint32) >> 16).astype(numpy.uint16)
    want = bits.copy()
    refused = numpy.unpackbits(mask.view(numpy.uint8), axis=1, bitorder="little")[:, :301] == 0
    want[refused] = 0xFF80
    out = grammask.apply_token_bitmask(OnCuda(bits, bfloat=True), OnCuda(mask))
    assert out.array.tobytes() == want.tobytes()
    grammask.apply_token_bitmask_inplace(OnCuda(bits, bfloat=True), OnCuda(mask))
    assert bits.tobytes() == want.tobytes()


def test_out_of_place():
    logits, mask = case(4)
    before, want = logits.copy(), logits.copy()
    grammask.apply_token_bitmask_inplace(want, mask)
    out = grammask.apply_token_bitmask(OnCuda(logits), OnCuda(mask))
    assert out.array.tobytes() == want.tobytes() and logits.tobytes() == before.tobytes()
    given = numpy.full((5, 400), 9, numpy.float32)
    part = given[:, 3:304]
    grammask.apply_token_bitmask(OnCuda(logits), OnCuda(mask), out=OnCuda(part), indices=[1, 3])
    assert part[[1, 3]].tobytes() == want[[1, 3]].tobytes()
    assert (part[[0, 2, 4]] == 9).all()
    assert (given[:, :3] == 9).all() and (given[:, 304:] == 9).all()
    for wrong in (given, part.astype(numpy.float16), part[:4]):
        with pytest.raises(ValueError, match="dtype and the shape"):
            grammask.apply_token_bitmask(OnCuda(logits), OnCuda(mask), out=OnCuda(wrong))


def test_out_of_place_on_the_cpu():
    logits, mask = case(4)
    want = logits.copy()
    grammask.apply_token_bitmask_inplace(want, mask)
    assert grammask.apply_token_bitmask(logits, mask).tobytes() == want.tobytes()
    out = numpy.full_like(logits, 9)
    assert grammask.apply_token_bitmask(logits, mask, out=out, indices=[1, 3]) is out
    assert out[[1, 3]].tobytes() == want[[1, 3]].tobytes() and (out[[0, 2, 4]] == 9).all()


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_argmax_is_that_of_the_cpu(dtype):
    for seed in range(5):
        logits, mask = case(seed, dtype=dtype)
        tokens, values = grammask.masked_argmax(OnCuda(logits), OnCuda(mask), return_values=True)
        want = grammask.masked_argmax(logits, mask, return_values=True)
        assert tokens.array.tolist() == want[0].tolist()
        assert values.array.tobytes() == want[1].tobytes()
        some = grammask.masked_argmax(OnCuda(logits), OnCuda(mask), indices=[3, 3, 0])
        assert some.array.tolist() == want[0][[3, 3, 0]].tolist()


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"temperature": 0.7},
        {"temperature": 0},
        {"top_k": 1},
        {"top_k": 7},
        {"top_p": 0.9},
        {"min_p": 0.05},
        {"temperature": 1.3, "top_k": 20, "top_p": 0.8, "min_p": 0.01, "offset": 5},
        {"temperature": [0.5, 1, 0, 2, 1.5], "top_k": [3, 0, 0, 1, 9]},
        {"top_p": numpy.array([0.5, 0.9, 1, 0.2, 1.0]), "min_p": [0, 0.1, 0, 0, 0.3]},
    ],
)
def test_sample_is_that_of_the_cpu(dtype, settings):
    # Rounding may tell them apart where the draw falls on the border of two tokens: not with these.
    for seed in (1, [2**64 - 1, 2, 3, 4, 5]):
        logits, mask = case(6, dtype=dtype)
        tokens = grammask.masked_sample(OnCuda(logits), OnCuda(mask), seed=seed, **settings)
        want = grammask.masked_sample(logits, mask, seed=seed, **settings)
        assert tokens.array.tolist() == want.tolist()


def test_settings_on_the_device():
    logits, mask = case(7)
    settings = {
        "seed": numpy.arange(5),
        "offset": numpy.arange(5) * 3,
        "temperature": numpy.array([1, 0.5, 0, 2, 1], dtype=numpy.float32),
        "top_k": numpy.array([0, 5, 0, 2, 1]),
        "top_p": numpy.array([1, 0.9, 0.5, 0.3, 1]),
        "min_p": numpy.array([0, 0.1, 0, 0, 0.5]),
    }
    want = grammask.masked_sample(logits, mask, **settings)
    on_device = {name: OnCuda(value) for name, value in settings.items()}
    assert grammask.masked_sample(OnCuda(logits), OnCuda(mask), **on_device).array.tolist() == (
        want.tolist()
    )
    with pytest.raises(ValueError, match="top_k must be a number, or int64 of shape"):
        grammask.masked_sample(
            OnCuda(logits), OnCuda(mask), seed=1, top_k=OnCuda(numpy.zeros(4, numpy.int64))
        )


def test_streams_and_devices():
    logits, mask = case(8)
    OnCuda.streams.clear()
    stream = (2 << 16) + 5
    grammask.apply_token_bitmask_inplace(OnCuda(logits, 1), OnCuda(mask, 1), stream=stream)
    assert set(OnCuda.streams) == {stream}
    assert (launches()[-1].stream, launches()[-1].device) == (stream, 1)
    OnCuda.streams.clear()
    grammask.apply_token_bitmask_inplace(OnCuda(logits, 1), OnCuda(mask, 1))
    assert set(OnCuda.streams) == {1}  # DLPack's number of the default stream
    assert launches()[-1].stream == 0


def refusals():
    logits, mask = case(9)
    changes = [
        ({"logits": OnCuda(numpy.zeros((5, 301), numpy.int32))}, "logits must be of float32"),
        ({"bitmask": OnCuda(mask.astype(numpy.int64))}, "bitmask must be of int32"),
        ({"bitmask": OnCuda(mask, 1)}, "logits are on cuda:0 and the bitmask is on cuda:1"),
        ({"bitmask": mask}, "same device"),
        ({"logits": OnCuda(logits, 0, read_only=True)}, "read-only"),
        ({"logits": OnCuda(numpy.zeros((301, 5), numpy.float32).T)}, "next to each other"),
        ({"logits": OnCuda(logits[None])}, "3 dimensions"),
        ({"logits": OnCuda(logits[:3])}, "3 rows and the bitmask 5"),
        ({"logits": OnCuda(logits, 7), "bitmask": OnCuda(mask, 7)}, "invalid device"),
        ({"vocab_size": 302}, "vocab_size is 302"),
        ({"vocab_size": -1}, "vocab_size is -1"),
        ({"vocab_offset": -1}, "vocab_offset is -1"),
        ({"indices": [0, 5]}, r"indices\[1\] is 5"),
        ({"indices": [-1]}, r"indices\[0\] is -1"),
        ({"indices": OnCuda(numpy.zeros(2, numpy.float32))}, "int32 or int64"),
        ({"indices": OnCuda(numpy.zeros(2, numpy.int64), 1)}, "indices are on cuda:1"),
        ({"stream": (2 << 16) + 1}, "another device"),
    ]
    return [pytest.param(change, message, id=message) for change, message in changes]


@pytest.mark.parametrize("change, message", refusals())
def test_refusals_launch_nothing(change, message):
    logits, mask = case(9)
    arguments = {"logits": OnCuda(logits), "bitmask": OnCuda(mask), **change}
    before, count = logits.copy(), len(launches())
    with pytest.raises(grammask.GrammaskError, match=message):
        grammask.apply_token_bitmask_inplace(
            arguments.pop("logits"), arguments.pop("bitmask"), **arguments
        )
    assert len(launches()) == count and logits.tobytes() == before.tobytes()


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"temperature": -1}, "temperature"),
        ({"temperature": float("nan")}, "temperature"),
        ({"top_p": 0}, "top_p"),
        ({"top_p": 1.5}, "top_p"),
        ({"min_p": 2}, "min_p"),
        ({"top_k": -1}, "top_k"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**64}, "seed"),
        ({"temperature": [1.0, 2.0]}, "temperature"),
    ],
)
def test_settings_out_of_range(settings, message):
    logits, mask = case(9)
    count = len(launches())
    with pytest.raises(grammask.GrammaskError, match=message):
        grammask.masked_sample(OnCuda(logits), OnCuda(mask), **{"seed": 1, **settings})
    assert len(launches()) == count


def test_a_narrow_mask_warns():
    logits, mask = case(10)
    want = logits.copy()
    with pytest.warns(UserWarning, match="covers 64 tokens"):
        grammask.apply_token_bitmask_inplace(OnCuda(logits), OnCuda(mask[:, :2]))
    grammask.apply_token_bitmask_inplace(want, mask, vocab_size=64)
    assert logits.tobytes() == want.tobytes()


def test_errors_of_the_driver():
    logits, mask = case(11)
    FAKE.fake_cuda_fail_next(2)
    with pytest.raises(grammask.GrammaskError, match=r"launching a CUDA kernel failed.*error 2"):
        grammask.apply_token_bitmask_inplace(OnCuda(logits), OnCuda(mask))


def test_one_dimension_and_no_rows():
    logits, mask = case(12)
    want = logits[2].copy()
    grammask.apply_token_bitmask_inplace(want, mask[2])
    grammask.apply_token_bitmask_inplace(OnCuda(logits[2]), OnCuda(mask[2]))
    assert logits[2].tobytes() == want.tobytes()
    assert grammask.masked_argmax(OnCuda(want), OnCuda(mask[2])).array.shape == (1,)
    empty = OnCuda(logits[:0])
    grammask.apply_token_bitmask_inplace(empty, OnCuda(mask[:0]))
    assert grammask.masked_argmax(empty, OnCuda(mask[:0])).array.shape == (0,)


def test_one_launch_spread_over_the_device():
    logits, mask = (array[:1] for array in case(13, rows=2, columns=40000))
    count = len(launches())
    grammask.apply_token_bitmask_inplace(OnCuda(logits), OnCuda(mask))
    grammask.masked_argmax(OnCuda(logits), OnCuda(mask))
    apply, argmax = launches()[count:]
    # 40,000 columns: 157 chunks of 256, eight to a block. Argmax takes the largest cluster.
    assert apply.blocks == 20 and argmax.team == argmax.blocks == 8


def test_prepare():
    _core.cuda_prepare(1)
    with pytest.raises(grammask.GrammaskError, match="invalid device"):
        _core.cuda_prepare(5)
    assert _cuda.reason_against(0) is None and "invalid device" in _cuda.reason_against(5)
