"""libattn for Python: the public C interface over ctypes and numpy.

The structures are those of include/attn/*.h, field by field. A numpy array of
float32 goes in as it lies in memory, with its strides; nothing is copied. For
batch x heads x rows x channels memory pass array.transpose(0, 2, 1, 3).

    context = attn.Context(threads=2)
    context.forward(query, key, value, output, pattern=attn.pattern(right=0))

The library is $BUILD/libattn.so, by default that of build/release.
"""

import ctypes
import os
from ctypes import POINTER, byref, c_char_p, c_double, c_float, c_int, c_int64, c_size_t, c_uint64, c_void_p
from pathlib import Path

import numpy as np

UNLIMITED = -1
ALIGN_START, ALIGN_END = 0, 1
ACTIVATIONS = ("identity", "relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid")
UNSUPPORTED = 5  # attn_status


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("dtype", c_int),
        ("device", c_int),
        ("rank", c_int),
        ("shape", c_int64 * 4),
        ("stride", c_int64 * 4),
    ]


class Mask(ctypes.Structure):
    _fields_ = [
        ("bits", c_void_p),
        ("queries", c_int64),
        ("keys", c_int64),
        ("sequence_stride", c_int64),
        ("head_stride", c_int64),
        ("query_stride", c_int64),
    ]


class Pattern(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("sequences", c_int64),
        ("query_offsets", c_void_p),
        ("key_offsets", c_void_p),
        ("query_lengths", c_void_p),
        ("key_lengths", c_void_p),
        ("left", c_int64),
        ("right", c_int64),
        ("align", c_int),
        ("mask", Mask),
    ]


class AttentionOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("scale", c_float),
        ("softcap", c_float),
        ("alibi_slopes", c_void_p),
        ("bias", Tensor),
        ("distance_bias", Tensor),
        ("dropout", c_float),
        ("seed", c_uint64),
        ("first_sequence", c_int64),
    ]


class AttentionGradients(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("query", Tensor),
        ("key", Tensor),
        ("value", Tensor),
        ("bias", Tensor),
        ("distance_bias", Tensor),
    ]


class WeightsLayout(ctypes.Structure):
    _fields_ = [
        (name, c_int64) for name in ("offset", "heads", "queries", "keys", "width", "first_key", "key_step")
    ]


class PackedWeight(ctypes.Structure):
    _fields_ = [
        ("memory", c_void_p),
        ("input", c_int64),
        ("output", c_int64),
        ("transposed", c_int),
        ("isa", c_char_p),
    ]


class Allocator(ctypes.Structure):
    _fields_ = [("allocate", c_void_p), ("release", c_void_p), ("user", c_void_p)]


class ContextOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("threads", c_int), ("isa", c_char_p), ("allocator", Allocator)]


class Error(Exception):
    """A call that did not return ATTN_OK; status is its number."""

    def __init__(self, status, text):
        super().__init__(f"{library.attn_status_name(status).decode()}: {text}")
        self.status = status


def build_folder():
    root = Path(__file__).resolve().parents[2]
    return root / os.environ.get("BUILD", "build/release")


def load():
    lib = ctypes.CDLL(str(build_folder() / "libattn.so"))
    context, tensor, pattern_, options = (
        c_void_p,
        POINTER(Tensor),
        POINTER(Pattern),
        POINTER(AttentionOptions),
    )
    packed = POINTER(PackedWeight)
    for name, result, *arguments in (
        ("version", c_char_p),
        ("status_name", c_char_p, c_int),
        ("last_create_error", c_char_p),
        ("context_error", c_char_p, context),
        ("context_isa", c_char_p, context),
        ("context_threads", c_int, context),
        ("context_options_init", None, POINTER(ContextOptions)),
        ("context_create", c_int, POINTER(ContextOptions), POINTER(c_void_p)),
        ("context_destroy", None, context),
        ("pattern_init", None, pattern_),
        ("attention_options_init", None, options),
        ("attention_gradients_init", None, POINTER(AttentionGradients)),
        ("attention_forward", c_int, context, pattern_, options, *[tensor] * 6),
        ("attention_backward", c_int, context, pattern_, options, *[tensor] * 6, POINTER(AttentionGradients)),
        ("attention_weights_count", c_int, context, pattern_, tensor, tensor, POINTER(c_int64)),
        (
            "attention_weights_layout",
            c_int,
            context,
            pattern_,
            tensor,
            tensor,
            c_int64,
            POINTER(WeightsLayout),
        ),
        ("weight_packed_size", c_int, context, c_int64, c_int64, POINTER(c_size_t)),
        ("weight_pack", c_int, context, tensor, c_int, c_void_p, c_size_t, packed),
        ("linear_forward", c_int, context, tensor, packed, tensor, c_int, tensor, tensor),
        ("linear_backward", c_int, context, tensor, tensor, c_int, tensor, packed, *[tensor] * 3),
        ("softmax_forward", c_int, context, tensor, tensor),
        ("machine_fma_peak", c_int, context, c_double, POINTER(c_double)),
        ("machine_copy_bandwidth", c_int, context, c_double, POINTER(c_double)),
    ):
        function = getattr(lib, "attn_" + name)
        function.restype, function.argtypes = result, arguments
    return lib


library = load()


def aligned(shape, alignment=64):
    """A float32 array whose first element is aligned as a cache line is."""
    count = int(np.prod(shape))
    memory = np.zeros(count * 4 + alignment, np.uint8)
    start = -memory.ctypes.data % alignment
    return memory[start : start + count * 4].view(np.float32).reshape(shape)


def tensor(array):
    """The view of a float32 array; no tensor for None."""
    view = Tensor()
    if array is None:
        return view
    if array.dtype != np.float32 or not 1 <= array.ndim <= 4:
        raise TypeError("a float32 array of one to four dimensions")
    view.data, view.rank = array.ctypes.data, array.ndim
    view.shape[: array.ndim] = array.shape
    view.stride[: array.ndim] = [step // 4 for step in array.strides]
    view.keep = array
    return view


def pointer(array):
    return None if array is None else byref(tensor(array))


def pattern(
    left=UNLIMITED,
    right=UNLIMITED,
    align=ALIGN_START,
    mask=None,
    query_offsets=None,
    key_offsets=None,
    query_lengths=None,
    key_lengths=None,
):
    """Who sees whom. mask: booleans [sequences or 1, heads or 1, queries, keys]."""
    result = Pattern()
    library.attn_pattern_init(byref(result))
    result.left, result.right, result.align, result.keep = left, right, align, []
    arrays = {
        "query_offsets": query_offsets,
        "key_offsets": key_offsets,
        "query_lengths": query_lengths,
        "key_lengths": key_lengths,
    }
    for name, numbers in arrays.items():
        if numbers is not None:
            array = np.ascontiguousarray(numbers, np.int64)
            result.sequences = len(array) - name.endswith("offsets")
            result.keep.append(array)
            setattr(result, name, array.ctypes.data)
    if mask is not None:
        bits = np.packbits(mask, axis=-1, bitorder="little")
        result.keep.append(bits)
        result.mask.bits, result.mask.queries, result.mask.keys = (
            bits.ctypes.data,
            mask.shape[2],
            mask.shape[3],
        )
        result.mask.sequence_stride = bits.strides[0] if bits.shape[0] > 1 else 0
        result.mask.head_stride = bits.strides[1] if bits.shape[1] > 1 else 0
        result.mask.query_stride = bits.strides[2]
    return result


def options(
    scale=0.0,
    softcap=0.0,
    alibi_slopes=None,
    bias=None,
    distance_bias=None,
    dropout=0.0,
    seed=0,
    first_sequence=0,
):
    result = AttentionOptions()
    library.attn_attention_options_init(byref(result))
    result.scale, result.softcap, result.dropout = scale, softcap, dropout
    result.seed, result.first_sequence = seed, first_sequence
    result.bias, result.distance_bias = tensor(bias), tensor(distance_bias)
    result.keep = [bias, distance_bias]
    if alibi_slopes is not None:
        slopes = np.ascontiguousarray(alibi_slopes, np.float32)
        result.alibi_slopes = slopes.ctypes.data
        result.keep.append(slopes)
    return result


class Context:
    """An attn_context; every method raises Error where the call fails."""

    def __init__(self, threads=0, isa=None):
        wanted = ContextOptions()
        library.attn_context_options_init(byref(wanted))
        wanted.threads, wanted.isa = threads, isa.encode() if isa else None
        self.handle = c_void_p()
        status = library.attn_context_create(byref(wanted), byref(self.handle))
        if status:
            raise Error(status, library.attn_last_create_error().decode())

    def __del__(self):
        library.attn_context_destroy(self.handle)

    def call(self, name, *arguments):
        status = getattr(library, "attn_" + name)(self.handle, *arguments)
        if status:
            raise Error(status, library.attn_context_error(self.handle).decode())

    @property
    def isa(self):
        return library.attn_context_isa(self.handle).decode()

    @property
    def threads(self):
        return library.attn_context_threads(self.handle)

    def forward(self, query, key, value, output, pattern=None, options=None, log_sum_exp=None, weights=None):
        self.call(
            "attention_forward",
            pattern,
            options,
            *map(pointer, (query, key, value, output)),
            pointer(log_sum_exp),
            pointer(weights),
        )

    def backward(
        self, query, key, value, output, log_sum_exp, d_output, gradients, pattern=None, options=None
    ):
        """gradients: arrays by the names in AttentionGradients; what is left out is not computed."""
        wanted = AttentionGradients()
        library.attn_attention_gradients_init(byref(wanted))
        for name, array in gradients.items():
            setattr(wanted, name, tensor(array))
        self.call(
            "attention_backward",
            pattern,
            options,
            *map(pointer, (query, key, value, output, log_sum_exp, d_output)),
            byref(wanted),
        )

    def weights_count(self, query, key, pattern=None):
        count = c_int64()
        self.call("attention_weights_count", pattern, pointer(query), pointer(key), byref(count))
        return count.value

    def weights_layout(self, query, key, sequence, pattern=None):
        layout = WeightsLayout()
        self.call("attention_weights_layout", pattern, pointer(query), pointer(key), sequence, byref(layout))
        return layout

    def pack(self, weight, transposed=False):
        """The weight (out x in) in kernel order; transposed: for the d_input of the backward pass."""
        size = c_size_t()
        self.call("weight_packed_size", *weight.shape, byref(size))
        packed = PackedWeight()
        packed.keep = aligned((size.value + 3) // 4)
        self.call(
            "weight_pack",
            pointer(weight),
            int(transposed),
            packed.keep.ctypes.data,
            size.value,
            byref(packed),
        )
        return packed

    def linear_forward(self, x, packed, bias, activation, output, pre_activation=None):
        self.call(
            "linear_forward",
            pointer(x),
            byref(packed),
            pointer(bias),
            ACTIVATIONS.index(activation),
            pointer(output),
            pointer(pre_activation),
        )

    def linear_backward(self, d_output, pre_activation, activation, x, packed, d_input, d_weight, d_bias):
        self.call(
            "linear_backward",
            pointer(d_output),
            pointer(pre_activation),
            ACTIVATIONS.index(activation),
            pointer(x),
            byref(packed),
            *map(pointer, (d_input, d_weight, d_bias)),
        )

    def softmax(self, x, output):
        self.call("softmax_forward", pointer(x), pointer(output))

    def fma_peak(self, seconds=0.3):
        result = c_double()
        self.call("machine_fma_peak", seconds, byref(result))
        return result.value

    def copy_bandwidth(self, seconds=0.3):
        result = c_double()
        self.call("machine_copy_bandwidth", seconds, byref(result))
        return result.value
