"""libattn for Python: the public C interface over ctypes and numpy.

The structures are those of include/attn/*.h, field by field. A numpy array of
float32 goes in as it lies in memory, with its strides; nothing is copied. For
batch x heads x rows x channels memory pass array.transpose(0, 2, 1, 3).

    context = attn.Context(threads=2)
    context.forward(query, key, value, output, pattern=attn.pattern(right=0))
    graph = context.graph(rows, columns, row_of, column_of)
    context.forward(query, key, value, output, attn.pattern(graph=graph), attn.options(score="gatv2", ...))

The library is $BUILD/libattn.so, by default that of build/release.
"""

import ctypes
import os
from ctypes import (
    POINTER,
    byref,
    c_char_p,
    c_double,
    c_float,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint64,
    c_void_p,
)
from pathlib import Path

import numpy as np

UNLIMITED = -1
ALIGN_START, ALIGN_END = 0, 1
ACTIVATIONS = ("identity", "relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid", "elu")
SCORES = ("dot", "additive", "gat", "gatv2", "none")
WEIGHTINGS = ("softmax", "relu", "sigmoid", "raw")
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
        ("graph", c_void_p),
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
        ("score", c_int),
        ("weighting", c_int),
        ("average", c_int),
        ("leaky_slope", c_float),
        ("score_vector", Tensor),
        ("key_score_vector", Tensor),
        ("edge_bias", Tensor),
        ("edge_key", Tensor),
        ("edge_value", Tensor),
        ("bias_of", c_void_p),
    ]


class AttentionGradients(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("query", Tensor),
        ("key", Tensor),
        ("value", Tensor),
        ("bias", Tensor),
        ("distance_bias", Tensor),
        ("score_vector", Tensor),
        ("key_score_vector", Tensor),
        ("edge_bias", Tensor),
        ("edge_key", Tensor),
        ("edge_value", Tensor),
    ]


class WeightsLayout(ctypes.Structure):
    _fields_ = [("size", c_size_t)] + [
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
    packed, graph, numbers = POINTER(PackedWeight), c_void_p, POINTER(c_int64)
    for name, result, *arguments in (
        ("version", c_char_p),
        ("status_name", c_char_p, c_int),
        ("last_create_error", c_char_p),
        ("context_error", c_char_p, context),
        ("context_isa", c_char_p, context),
        ("context_threads", c_int, context),
        ("context_memory", c_size_t, context),
        ("context_options_init_sized", None, POINTER(ContextOptions), c_size_t),
        ("context_create", c_int, POINTER(ContextOptions), POINTER(c_void_p)),
        ("context_destroy", None, context),
        ("graph_create", c_int, context, c_int64, c_int64, numbers, numbers, POINTER(graph)),
        ("graph_from_edges", c_int, context, c_int64, c_int64, c_int64, numbers, numbers, POINTER(graph)),
        ("graph_transpose", c_int, context, graph, POINTER(graph)),
        ("graph_add_self_loops", c_int, context, graph, POINTER(graph)),
        ("graph_add_reversed", c_int, context, graph, POINTER(graph)),
        ("graph_batch", c_int, context, c_int64, POINTER(graph), POINTER(graph)),
        ("graph_destroy", None, graph),
        ("graph_rows", c_int64, graph),
        ("graph_columns", c_int64, graph),
        ("graph_edges", c_int64, graph),
        ("graph_row_offsets", numbers, graph),
        ("graph_column_indices", POINTER(c_int32), graph),
        ("graph_edge_numbers", numbers, graph),
        ("pattern_init_sized", None, pattern_, c_size_t),
        ("attention_options_init_sized", None, options, c_size_t),
        ("attention_gradients_init_sized", None, POINTER(AttentionGradients), c_size_t),
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
        ("matmul_forward", c_int, context, tensor, packed, tensor, c_int, tensor, tensor),
        ("matmul_backward", c_int, context, tensor, tensor, c_int, tensor, packed, *[tensor] * 3),
        ("softmax_forward", c_int, context, tensor, tensor),
        ("machine_fma_peak", c_int, context, c_double, POINTER(c_double)),
        ("machine_copy_bandwidth", c_int, context, c_double, POINTER(c_double)),
    ):
        function = getattr(lib, "attn_" + name)
        function.restype, function.argtypes = result, arguments
    return lib


library = load()


def initialize(structure, function):
    """As the header's inline init function leaves it: the library fills as many bytes as this structure has."""
    size = ctypes.sizeof(structure)
    initialized = getattr(library, "attn_" + function + "_sized")
    initialized(ctypes.cast(byref(structure), initialized.argtypes[0]), size)


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
    graph=None,
):
    """Who sees whom. mask: booleans [sequences or 1, heads or 1, queries, keys]; graph: a Graph."""
    result = Pattern()
    initialize(result, "pattern_init")
    result.left, result.right, result.align, result.keep = left, right, align, [graph]
    result.graph = graph.handle if graph else None
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
    score="dot",
    weighting="softmax",
    average=False,
    leaky_slope=0.2,
    score_vector=None,
    key_score_vector=None,
    edge_bias=None,
    edge_key=None,
    edge_value=None,
):
    result = AttentionOptions()
    initialize(result, "attention_options_init")
    result.scale, result.softcap, result.dropout = scale, softcap, dropout
    result.seed, result.first_sequence = seed, first_sequence
    result.score, result.weighting = SCORES.index(score), WEIGHTINGS.index(weighting)
    result.average, result.leaky_slope = int(average), leaky_slope
    arrays = {
        "bias": bias,
        "distance_bias": distance_bias,
        "score_vector": score_vector,
        "key_score_vector": key_score_vector,
        "edge_bias": edge_bias,
        "edge_key": edge_key,
        "edge_value": edge_value,
    }
    for name, array in arrays.items():
        setattr(result, name, tensor(array))
    result.keep = list(arrays.values())
    if alibi_slopes is not None:
        slopes = np.ascontiguousarray(alibi_slopes, np.float32)
        result.alibi_slopes = slopes.ctypes.data
        result.keep.append(slopes)
    return result


class Graph:
    """An attn_graph; made by the methods of a Context, which it keeps alive."""

    def __init__(self, context, handle):
        self.context, self.handle = context, handle

    def __del__(self):
        library.attn_graph_destroy(self.handle)

    @property
    def rows(self):
        return library.attn_graph_rows(self.handle)

    @property
    def columns(self):
        return library.attn_graph_columns(self.handle)

    @property
    def edges(self):
        return library.attn_graph_edges(self.handle)

    def edge_list(self):
        """The row and the column of every edge, by edge number."""

        def array(function, count):
            return np.ctypeslib.as_array(function(self.handle), (count,)) if count else np.zeros(0, np.int64)

        offsets = array(library.attn_graph_row_offsets, self.rows + 1)
        numbers = array(library.attn_graph_edge_numbers, self.edges)
        row_of, column_of = np.empty((2, self.edges), np.int64)
        row_of[numbers] = np.repeat(np.arange(self.rows), np.diff(offsets))
        column_of[numbers] = array(library.attn_graph_column_indices, self.edges)
        return row_of, column_of


class CountingAllocator:
    """Memory for a context: aligned_alloc and free, with `held`, the bytes that are given out."""

    def __init__(self):
        self.held, self.sizes = 0, {}
        self.system = ctypes.CDLL(None)
        self.system.aligned_alloc.restype, self.system.aligned_alloc.argtypes = c_void_p, [c_size_t] * 2
        self.system.free.restype, self.system.free.argtypes = None, [c_void_p]
        self.callbacks = (
            ctypes.CFUNCTYPE(c_void_p, c_void_p, c_size_t, c_size_t)(self.allocate),
            ctypes.CFUNCTYPE(None, c_void_p, c_void_p)(self.release),
        )

    def allocate(self, _user, count, alignment):
        memory = self.system.aligned_alloc(alignment, -(-count // alignment) * alignment)
        if memory:
            self.sizes[memory] = count
            self.held += count
        return memory

    def release(self, _user, memory):
        self.held -= self.sizes.pop(memory)
        self.system.free(memory)

    def structure(self):
        return Allocator(*(ctypes.cast(callback, c_void_p) for callback in self.callbacks), None)


class Context:
    """An attn_context; every method raises Error where the call fails."""

    def __init__(self, threads=0, isa=None, allocator=None):
        wanted = ContextOptions()
        initialize(wanted, "context_options_init")
        wanted.threads, wanted.isa = threads, isa.encode() if isa else None
        if allocator:
            wanted.allocator, self.allocator = allocator.structure(), allocator
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

    @property
    def memory(self):
        """Bytes of working memory that the context holds."""
        return library.attn_context_memory(self.handle)

    def make_graph(self, name, *arguments):
        handle = c_void_p()
        self.call(name, *arguments, byref(handle))
        return Graph(self, handle)

    def graph(self, rows, columns, row_of, column_of):
        """Edge e lets row row_of[e] see column column_of[e]."""
        lists = [np.ascontiguousarray(numbers, np.int64) for numbers in (row_of, column_of)]
        pointers = [numbers.ctypes.data_as(POINTER(c_int64)) for numbers in lists]
        return self.make_graph("graph_from_edges", rows, columns, len(lists[0]), *pointers)

    def graph_from_rows(self, rows, columns, row_offsets, column_indices):
        lists = [np.ascontiguousarray(numbers, np.int64) for numbers in (row_offsets, column_indices)]
        pointers = [numbers.ctypes.data_as(POINTER(c_int64)) for numbers in lists]
        return self.make_graph("graph_create", rows, columns, *pointers)

    def transposed(self, graph):
        return self.make_graph("graph_transpose", graph.handle)

    def with_self_loops(self, graph):
        return self.make_graph("graph_add_self_loops", graph.handle)

    def with_reversed(self, graph):
        return self.make_graph("graph_add_reversed", graph.handle)

    def batch(self, graphs):
        handles = (c_void_p * len(graphs))(*(graph.handle for graph in graphs))
        return self.make_graph("graph_batch", len(graphs), handles)

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
        initialize(wanted, "attention_gradients_init")
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
        layout = WeightsLayout(size=ctypes.sizeof(WeightsLayout))
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

    def matmul_forward(self, x, packed, bias, activation, output, pre_activation=None):
        self.call(
            "matmul_forward",
            pointer(x),
            byref(packed),
            pointer(bias),
            ACTIVATIONS.index(activation),
            pointer(output),
            pointer(pre_activation),
        )

    def matmul_backward(self, d_output, pre_activation, activation, x, packed, d_input, d_weight, d_bias):
        self.call(
            "matmul_backward",
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
