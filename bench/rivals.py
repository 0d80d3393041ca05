"""The racers: libattn, PyTorch, ONNX Runtime and oneDNN, each set up at its best.

A Racer is a name, a call that does the work once, and what must be set before
its turn (PyTorch's and oneDNN's number of threads is a property of the
process). Arrays are made before the clock starts; libattn and its rival read
inputs of the same shape, each in the memory order that is its fastest.
"""

import ctypes
import sys
from ctypes import c_char_p, c_int, c_int64, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import numpy as np
import onnxruntime
import torch
import torch.nn.functional as F
from onnx import TensorProto, helper

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "peers"))
import attn  # noqa: E402  (it stands beside the tests of the peers)

onnxruntime.set_default_logger_severity(3)


def nothing():
    pass


@dataclass
class Racer:
    name: str
    call: Callable
    before: Callable = nothing
    result: Callable = nothing  # what the call computed, as a list of arrays, to compare


@dataclass(frozen=True)
class Attention:
    """One head's rows are n x d; batch 1, heads side by side."""

    n: int
    d: int
    causal: bool
    threads: int
    heads: int = 8

    @property
    def pairs(self):
        return self.heads * (self.n * (self.n + 1) // 2 if self.causal else self.n * self.n)

    @property
    def shape(self):
        return (1, self.heads, self.n, self.d)


def normal(shape, seed):
    array = attn.aligned(shape)
    np.random.default_rng(seed).standard_normal(out=array, dtype=np.float32)
    return array


def checked(function, *arguments):
    """A C function with its arguments bound, so that a call costs no more than ctypes does."""

    def call():
        if function(*arguments):
            raise RuntimeError("a call failed inside the race")

    return call


def empty_heads(shape):
    """An aligned array with heads apart (batch, head, row, channel), as a view of sequence, row, head, channel."""
    return attn.aligned(shape).transpose(0, 2, 1, 3)


def attn_forward(context, shape, query, key, value):
    """Inputs as views of sequence, row, head, channel of arrays with heads apart; so is the output."""
    output = empty_heads(shape.shape)
    pattern = attn.pattern(right=0 if shape.causal else attn.UNLIMITED)
    context.forward(query, key, value, output, pattern)
    call = checked(
        attn.library.attn_attention_forward,
        context.handle,
        ctypes.byref(pattern),
        None,
        *map(attn.pointer, (query, key, value, output)),
        None,
        None
    )
    return Racer("attn", call, result=lambda: [output.transpose(0, 2, 1, 3)])


def attn_backward(context, shape, query, key, value, d_output):
    views = [array.transpose(0, 2, 1, 3) for array in (query, key, value, d_output)]
    output, log_sum_exp = empty_heads(shape.shape), np.empty(views[0].shape[:-1], np.float32)
    pattern = attn.pattern(right=0 if shape.causal else attn.UNLIMITED)
    context.forward(*views[:3], output, pattern, log_sum_exp=log_sum_exp)
    results = [empty_heads(shape.shape) for _ in range(3)]
    gradients = attn.AttentionGradients()
    attn.library.attn_attention_gradients_init(ctypes.byref(gradients))
    gradients.query, gradients.key, gradients.value = map(attn.tensor, results)
    call = checked(
        attn.library.attn_attention_backward,
        context.handle,
        ctypes.byref(pattern),
        None,
        *map(attn.pointer, (*views[:3], output, log_sum_exp, views[3])),
        ctypes.byref(gradients)
    )
    return Racer("attn", call, result=lambda: [r.transpose(0, 2, 1, 3) for r in results])


def use_threads(threads):
    def before():
        torch.set_num_threads(threads)

    return before


def torch_forward(shape, query, key, value):
    tensors = [torch.from_numpy(array) for array in (query, key, value)]
    last = []

    def call():
        with torch.inference_mode():
            last[:] = [F.scaled_dot_product_attention(*tensors, is_causal=shape.causal)]

    return Racer("PyTorch", call, use_threads(shape.threads), lambda: [last[0].numpy()])


def torch_backward(shape, query, key, value, d_output):
    tensors = [torch.from_numpy(array).requires_grad_() for array in (query, key, value)]
    arriving = torch.from_numpy(d_output)
    torch.set_num_threads(shape.threads)
    output = F.scaled_dot_product_attention(*tensors, is_causal=shape.causal)
    if output.grad_fn.name() != "ScaledDotProductFlashAttentionForCpuBackward0":
        raise RuntimeError("PyTorch did not take its flash kernel but " + output.grad_fn.name())
    last = []

    def call():
        last[:] = torch.autograd.grad(output, tensors, arriving, retain_graph=True)

    return Racer("PyTorch", call, use_threads(shape.threads), lambda: [g.numpy() for g in last])


def onnx_session(node, inputs, outputs, threads):
    graph = helper.make_graph([node], "attention", inputs, outputs)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    # Spinning stays on: it is ONNX Runtime's fastest. The race waits until it is over (settle).
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def floats(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def bound_session(session, inputs, outputs):
    """Inputs and outputs are bound once: nothing is copied or allocated in the call."""
    binding = session.io_binding()
    for name, value in inputs.items():
        binding.bind_ortvalue_input(name, value)
    for name, value in outputs.items():
        binding.bind_ortvalue_output(name, value)
    return lambda: session.run_with_iobinding(binding)


def onnx_value(array):
    return onnxruntime.OrtValue.ortvalue_from_numpy(array)


def heads_apart(shape, output):
    """n x (heads d) rows as 1 x heads x n x d."""
    return output.numpy().reshape(1, shape.n, shape.heads, shape.d).transpose(0, 2, 1, 3)


def onnx_multi_head(shape, query, key, value, heads_first):
    """MultiHeadAttention. Keys and values either as rows of all heads, or as heads x n x d."""
    rows = (1, shape.n, shape.heads * shape.d)
    inner = shape.shape if heads_first else rows
    node = helper.make_node(
        "MultiHeadAttention",
        ["query", "key", "value"],
        ["output"],
        domain="com.microsoft",
        num_heads=shape.heads,
    )
    session = onnx_session(
        node,
        [floats("query", rows), floats("key", inner), floats("value", inner)],
        [floats("output", rows)],
        shape.threads,
    )
    output = onnx_value(np.empty(rows, np.float32))
    call = bound_session(
        session,
        {
            "query": onnx_value(query.reshape(rows)),
            "key": onnx_value(key.reshape(inner)),
            "value": onnx_value(value.reshape(inner)),
        },
        {"output": output},
    )
    return Racer("ONNX Runtime", call, result=lambda: [heads_apart(shape, output)])


def onnx_grouped_query(shape, query, key, value):
    """GroupQueryAttention, which is causal; its key/value cache is one buffer for past and present."""
    rows, cache = (1, shape.n, shape.heads * shape.d), shape.shape
    node = helper.make_node(
        "GroupQueryAttention",
        ["query", "key", "value", "past_key", "past_value", "last", "total"],
        ["output", "present_key", "present_value"],
        domain="com.microsoft",
        num_heads=shape.heads,
        kv_num_heads=shape.heads,
    )
    integers = [helper.make_tensor_value_info(name, TensorProto.INT32, [1]) for name in ("last", "total")]
    session = onnx_session(
        node,
        [
            *[floats(name, rows) for name in ("query", "key", "value")],
            floats("past_key", cache),
            floats("past_value", cache),
            *integers,
        ],
        [floats("output", rows), floats("present_key", cache), floats("present_value", cache)],
        shape.threads,
    )
    output = onnx_value(np.empty(rows, np.float32))
    keys, values = onnx_value(np.zeros(cache, np.float32)), onnx_value(np.zeros(cache, np.float32))
    inputs = {
        name: onnx_value(array.reshape(rows))
        for name, array in (("query", query), ("key", key), ("value", value))
    }
    inputs.update(
        past_key=keys,
        past_value=values,
        last=onnx_value(np.array([shape.n - 1], np.int32)),
        total=onnx_value(np.array([shape.n], np.int32)),
    )
    call = bound_session(session, inputs, {"output": output, "present_key": keys, "present_value": values})
    return Racer("ONNX Runtime", call, result=lambda: [heads_apart(shape, output)])


@dataclass(frozen=True)
class Product:
    """y = x W^T: x rows x in, W out x in."""

    rows: int
    fan_in: int
    fan_out: int
    threads: int

    @property
    def operations(self):
        return 2 * self.rows * self.fan_in * self.fan_out


def attn_product(context, shape, x, weight):
    output = attn.aligned((shape.rows, shape.fan_out))
    packed = context.pack(weight)
    call = checked(
        attn.library.attn_linear_forward,
        context.handle,
        attn.pointer(x),
        ctypes.byref(packed),
        None,
        0,
        attn.pointer(output),
        None,
    )
    return Racer("attn", call, result=lambda: [output])


def load_onednn():
    library = ctypes.CDLL(str(ROOT / "build" / "onednn_gemm.so"))
    library.onednn_gemm_create.restype = c_void_p
    library.onednn_gemm_create.argtypes = [c_int64] * 3 + [c_void_p] * 3
    library.onednn_gemm_run.argtypes = [c_void_p]
    library.onednn_gemm_destroy.argtypes = [c_void_p]
    library.onednn_gemm_threads.argtypes = [c_int]
    library.onednn_gemm_version.restype = ctypes.POINTER(c_int * 3)
    library.onednn_gemm_implementation.argtypes = [c_void_p]
    library.onednn_gemm_implementation.restype = c_char_p
    return library


def onednn_product(library, shape, x, weight):
    output = attn.aligned((shape.rows, shape.fan_out))
    library.onednn_gemm_threads(shape.threads)
    handle = library.onednn_gemm_create(
        shape.rows, shape.fan_in, shape.fan_out, weight.ctypes.data, x.ctypes.data, output.ctypes.data
    )
    if not handle:
        raise RuntimeError("oneDNN refuses the shape")

    def release():
        library.onednn_gemm_destroy(handle)

    racer = Racer(
        "oneDNN",
        checked(library.onednn_gemm_run, handle),
        lambda: library.onednn_gemm_threads(shape.threads),
        lambda: [output],
    )
    return racer, release
