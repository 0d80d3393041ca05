"""libattn's networks for Python: parameters, tape, operations and layers over ctypes and numpy.

The structures are those of include/attn/*.h, field by field. Variables and
parameters are the library's own pointers; errors are raised where the library
keeps them: by Network for the set of parameters, by Tape for the tape.

    network = Network(attn.Context())
    weight = network.add("weight", array)
    tape = Tape(network.context)
    tape.begin()
    x = tape.input(rows)
    y = tape.linear(x, weight, None, "gelu")
    tape.backward(y, d_output)
    tape.gradient(x), network.gradient("weight")
"""

import ctypes
from ctypes import (
    POINTER,
    byref,
    c_char,
    c_char_p,
    c_double,
    c_float,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint,
    c_uint64,
    c_void_p,
)

import numpy as np

from attn import ACTIVATIONS, Error, Tensor, initialize, library

PREDICT, TRAIN, GRADIENT = 0, 1, 2  # attn_tape_mode
BAGS = ("sum", "mean")
POOLS = ("mean", "max", "first")
RECURRENCES = ("tanh", "gru", "lstm")
NORMS = ("layer", "rms", "none")
POSITIONS = ("none", "sinusoidal", "learned", "one_hot", "rotary", "alibi", "relative", "grid", "grid_learned", "grid_relative")
FORMS = ("standard", "narrow", "wide", "raw", "shared")
MIXERS = ("attention", "rnn", "cnn", "fc", "mean")
OPTIMIZERS = ("sgd", "adamw")
SCHEDULES = ("constant", "linear", "cosine", "inverse_root")
KINDS = ("weight", "bias", "norm", "embedding")  # of parameters


class Ragged(ctypes.Structure):
    _fields_ = [("sequences", c_int64), ("offsets", c_void_p)]


class Grids(ctypes.Structure):
    _fields_ = [("batch", Ragged), ("heights", c_void_p), ("widths", c_void_p)]


class ParameterOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("kind", c_int),
        ("initial", c_int),
        ("scale", c_float),
        ("frozen", c_int),
    ]


class ConvolutionOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("width", c_int64),
        ("dilation", c_int64),
        ("causal", c_int),
        ("activation", c_int),
    ]


class RecurrentWeights(ctypes.Structure):
    _fields_ = [(name, c_void_p) for name in ("input", "hidden", "input_bias", "hidden_bias")]


class CrossEntropyOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("smoothing", c_float),
        ("class_weights", c_void_p),
        ("ignored", c_int32),
    ]


class MultiheadOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("columns", c_int64),
        ("source_columns", c_int64),
        ("heads", c_int64),
        ("kv_heads", c_int64),
        ("head_width", c_int64),
        ("form", c_int),
        ("with_bias", c_int),
        ("output_scale", c_float),
        ("score", c_int),
        ("weighting", c_int),
        ("average", c_int),
        ("scale", c_float),
        ("softcap", c_float),
        ("leaky_slope", c_float),
        ("dropout", c_float),
        ("left", c_int64),
        ("right", c_int64),
        ("position", c_int),
        ("rotary_base", c_float),
        ("buckets", c_int64),
        ("farthest", c_int64),
        ("longest", c_int64),
        ("edge_columns", c_int64),
        ("edge_terms", c_uint),
        ("uniform", c_int),
    ]


class Places(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("batch", Ragged),
        ("first", c_void_p),
        ("source", c_void_p),
        ("source_batch", Ragged),
        ("graph", c_void_p),
        ("edges", c_void_p),
        ("heights", c_void_p),
        ("widths", c_void_p),
        ("weights", c_void_p),
    ]


class MixerOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("kind", c_int),
        ("columns", c_int64),
        ("causal", c_int),
        ("attention", MultiheadOptions),
        ("attention_room", c_char * (512 - ctypes.sizeof(MultiheadOptions))),
        ("recurrence", c_int),
        ("directions", c_int),
        ("hidden", c_int64),
        ("width", c_int64),
        ("dilation", c_int64),
        ("activation", c_int),
        ("grid", c_int),
    ]


class BlockOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("mixer", MixerOptions),
        ("mixer_room", c_char * (1024 - ctypes.sizeof(MixerOptions))),
        ("inner", c_int64),
        ("activation", c_int),
        ("gated", c_int),
        ("norm", c_int),
        ("norm_first", c_int),
        ("residual", c_int),
        ("dropout", c_float),
        ("output_scale", c_float),
        ("norm_epsilon", c_float),
        ("mixed_activation", c_int),
    ]


class EncoderOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("columns", c_int64),
        ("input_columns", c_int64),
        ("layers", c_int64),
        ("position", c_int),
        ("longest", c_int64),
        ("dropout", c_float),
        ("block", BlockOptions),
        ("block_room", c_char * (2048 - ctypes.sizeof(BlockOptions))),
        ("kinds", c_void_p),
        ("final_norm", c_int),
        ("initial", c_float),
        ("jump", c_int),
    ]


class DecoderOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("columns", c_int64),
        ("layers", c_int64),
        ("heads", c_int64),
        ("kv_heads", c_int64),
        ("source_columns", c_int64),
        ("inner", c_int64),
        ("activation", c_int),
        ("gated", c_int),
        ("norm", c_int),
        ("norm_first", c_int),
        ("with_bias", c_int),
        ("position", c_int),
        ("longest", c_int64),
        ("dropout", c_float),
        ("attention_dropout", c_float),
        ("norm_epsilon", c_float),
    ]


class OptimizerOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("kind", c_int),
        ("learning_rate", c_double),
        ("beta1", c_double),
        ("beta2", c_double),
        ("epsilon", c_double),
        ("weight_decay", c_double),
        ("decay_all", c_int),
        ("momentum", c_double),
        ("nesterov", c_int),
        ("clip_norm", c_double),
        ("accumulate", c_int64),
        ("schedule", c_int),
        ("warmup_steps", c_int64),
        ("total_steps", c_int64),
        ("floor", c_double),
        ("average", c_double),
        ("lazy_rows", c_int),
    ]


def bind():
    pointer, number, text = c_void_p, c_int64, c_char_p
    batch, places = POINTER(Ragged), POINTER(Places)
    for name, result, *arguments in (
        ("parameter_options_init_sized", None, POINTER(ParameterOptions), c_size_t),
        ("parameters_create", c_int, pointer, c_uint64, POINTER(pointer)),
        ("parameters_destroy", None, pointer),
        ("parameters_add", pointer, pointer, text, c_int, POINTER(number), POINTER(ParameterOptions)),
        ("parameters_status", c_int, pointer),
        ("parameters_error", text, pointer),
        ("parameters_count", number, pointer),
        ("parameters_at", pointer, pointer, number),
        ("parameters_find", pointer, pointer, text),
        ("parameters_clear_gradients", None, pointer),
        ("parameter_name", text, pointer),
        ("parameter_value", Tensor, pointer),
        ("parameter_gradient", Tensor, pointer),
        ("parameter_changed", None, pointer),
        ("tape_create", c_int, pointer, POINTER(pointer)),
        ("tape_destroy", None, pointer),
        ("tape_begin", None, pointer, c_int, c_uint64),
        ("tape_status", c_int, pointer),
        ("tape_error", text, pointer),
        ("tape_backward", c_int, pointer, pointer, pointer),
        ("tape_input", pointer, pointer, pointer, number, number, c_int),
        ("tape_parameter", pointer, pointer, pointer),
        ("variable_rows", number, pointer),
        ("variable_columns", number, pointer),
        ("variable_stride", number, pointer),
        ("variable_data", pointer, pointer),
        ("variable_gradient", pointer, pointer),
        ("tape_linear", pointer, *[pointer] * 4, c_int),
        ("tape_embedding", pointer, *[pointer] * 3, number),
        ("tape_embedding_bag", pointer, *[pointer] * 4, number, c_int),
        ("tape_add", pointer, *[pointer] * 3),
        ("tape_multiply", pointer, *[pointer] * 3),
        ("tape_scale", pointer, pointer, pointer, c_float),
        ("tape_concat", pointer, pointer, POINTER(pointer), c_int),
        ("tape_slice", pointer, pointer, pointer, number, number),
        ("tape_gather", pointer, *[pointer] * 3, number),
        ("tape_scatter", pointer, *[pointer] * 3, number),
        ("tape_activation", pointer, pointer, pointer, c_int),
        ("tape_gate", pointer, *[pointer] * 3, c_int),
        ("tape_softmax", pointer, pointer, pointer),
        ("tape_log_softmax", pointer, pointer, pointer),
        ("tape_layer_norm", pointer, *[pointer] * 4, c_float),
        ("tape_rms_norm", pointer, *[pointer] * 3, c_float),
        ("tape_pool", pointer, pointer, pointer, batch, c_int),
        ("tape_pool_attention", pointer, *[pointer] * 3, batch),
        ("tape_window", pointer, pointer, pointer, batch, number, number),
        ("convolution_options_init_sized", None, POINTER(ConvolutionOptions), c_size_t),
        (
            "tape_convolution",
            pointer,
            pointer,
            pointer,
            batch,
            pointer,
            pointer,
            POINTER(ConvolutionOptions),
        ),
        (
            "tape_convolution_grid",
            pointer,
            pointer,
            pointer,
            POINTER(Grids),
            pointer,
            pointer,
            POINTER(ConvolutionOptions),
        ),
        ("tape_recurrent", pointer, pointer, pointer, batch, c_int, POINTER(RecurrentWeights), c_int),
        ("tape_rotary", pointer, pointer, pointer, number, batch, pointer, c_float),
        ("cross_entropy_options_init_sized", None, POINTER(CrossEntropyOptions), c_size_t),
        ("tape_cross_entropy", pointer, *[pointer] * 3, POINTER(CrossEntropyOptions)),
        ("tape_ctc", pointer, pointer, pointer, batch, pointer, batch, c_int),
        ("tape_binary_cross_entropy", pointer, *[pointer] * 3),
        ("tape_squared_error", pointer, *[pointer] * 3),
        ("tape_absolute_error", pointer, *[pointer] * 3),
        ("places_init_sized", None, places, c_size_t),
        ("multihead_options_init_sized", None, POINTER(MultiheadOptions), c_size_t),
        ("multihead_create", pointer, pointer, text, POINTER(MultiheadOptions)),
        ("multihead_apply", pointer, *[pointer] * 3, places),
        ("positions_create", pointer, pointer, text, c_int, number, number),
        ("positions_apply", pointer, *[pointer] * 3, places),
        ("feedforward_create", pointer, pointer, text, number, number, c_int, c_int, c_int, c_float),
        ("feedforward_apply", pointer, *[pointer] * 3),
        ("mixer_options_init_sized", None, POINTER(MixerOptions), c_size_t),
        ("mixer_create", pointer, pointer, text, POINTER(MixerOptions)),
        ("mixer_apply", pointer, *[pointer] * 3, places),
        ("block_options_init_sized", None, POINTER(BlockOptions), c_size_t),
        ("block_create", pointer, pointer, text, POINTER(BlockOptions)),
        ("block_apply", pointer, *[pointer] * 3, places),
        ("encoder_options_init_sized", None, POINTER(EncoderOptions), c_size_t),
        ("encoder_create", pointer, pointer, text, POINTER(EncoderOptions)),
        ("encoder_apply", pointer, *[pointer] * 3, places),
        ("decoder_options_init_sized", None, POINTER(DecoderOptions), c_size_t),
        ("decoder_create", pointer, pointer, text, POINTER(DecoderOptions)),
        ("decoder_apply", pointer, *[pointer] * 3, places),
        ("optimizer_options_init_sized", None, POINTER(OptimizerOptions), c_size_t),
        ("optimizer_create", c_int, pointer, POINTER(OptimizerOptions), POINTER(pointer)),
        ("optimizer_destroy", None, pointer),
        ("optimizer_step", c_int, pointer),
        ("optimizer_learning_rate", c_double, pointer),
        ("optimizer_gradient_norm", c_double, pointer),
        ("optimizer_swap_average", c_int, pointer),
        ("optimizer_state_count", number, pointer),
        ("optimizer_state", c_int, pointer, number, POINTER(text), POINTER(Tensor)),
    ):
        function = getattr(library, "attn_" + name)
        function.restype, function.argtypes = result, arguments


bind()

NAMES = {  # of the numbers in the options
    "kind": MIXERS,
    "schedule": SCHEDULES,
    "activation": ACTIVATIONS,
    "norm": NORMS,
    "position": POSITIONS,
    "form": FORMS,
    "recurrence": RECURRENCES,
}


def options(of, /, **fields):
    """Options as their init function leaves them, then with these fields; a structure in them is a dict."""
    result = {
        "convolution": ConvolutionOptions,
        "multihead": MultiheadOptions,
        "mixer": MixerOptions,
        "block": BlockOptions,
        "encoder": EncoderOptions,
        "decoder": DecoderOptions,
        "optimizer": OptimizerOptions,
    }[of]()
    initialize(result, f"{of}_options_init")
    fill(result, fields)
    return result


def fill(structure, fields):
    known = {name for name, _ in structure._fields_}
    for name, value in fields.items():
        if name not in known:
            raise AttributeError(f"{type(structure).__name__} has no {name}")
        if isinstance(value, dict):
            fill(getattr(structure, name), value)
        else:
            setattr(structure, name, NAMES[name].index(value) if isinstance(value, str) else value)


def offsets_of(lengths):
    return np.cumsum([0, *lengths]).astype(np.int64)


def ragged(lengths):
    """Sequences of these lengths, one after another."""
    offsets = offsets_of(lengths)
    result = Ragged(len(lengths), offsets.ctypes.data)
    result.keep = offsets
    return result


def grids(sizes):
    """Grids of these (height, width), one after another."""
    sides = np.array(sizes, np.int64).reshape(-1, 2).T.copy()
    batch = ragged([h * w for h, w in sizes])
    result = Grids(batch, sides[0].ctypes.data, sides[1].ctypes.data)
    result.keep = [batch, sides]
    return result


def places(lengths, source=None, source_lengths=None, first=None, weights=None):
    result = Places()
    initialize(result, "places_init")
    result.keep = [ragged(lengths), weights]
    result.batch = result.keep[0]
    if source is not None:
        result.keep.append(ragged(source_lengths))
        result.source, result.source_batch = source, result.keep[-1]
    if first is not None:
        result.keep.append(np.ascontiguousarray(first, np.int64))
        result.first = result.keep[-1].ctypes.data
    if weights is not None:
        result.weights = weights.ctypes.data
    return result


def view(tensor):
    """The memory of a contiguous tensor of the library's as an array; None if it has none."""
    if not tensor.data:
        return None
    memory = ctypes.cast(tensor.data, POINTER(c_float))
    return np.ctypeslib.as_array(memory, tuple(tensor.shape[: tensor.rank]))


class Network:
    """A set of parameters."""

    def __init__(self, context, seed=1):
        self.context, self.handle = context, c_void_p()
        context.call("parameters_create", seed, byref(self.handle))

    def __del__(self):
        library.attn_parameters_destroy(self.handle)

    def check(self):
        status = library.attn_parameters_status(self.handle)
        if status:
            raise Error(status, library.attn_parameters_error(self.handle).decode())

    def create(self, kind, name, *arguments):
        """A layer."""
        arguments = [byref(a) if isinstance(a, ctypes.Structure) else a for a in arguments]
        layer = getattr(library, f"attn_{kind}_create")(self.handle, name.encode(), *arguments)
        self.check()
        return layer

    def add(self, name, array, kind="weight"):
        """A parameter of this value."""
        wanted = ParameterOptions()
        initialize(wanted, "parameter_options_init")
        wanted.kind = KINDS.index(kind)
        shape = (c_int64 * array.ndim)(*array.shape)
        parameter = library.attn_parameters_add(
            self.handle, name.encode(), array.ndim, shape, byref(wanted)
        )
        self.check()
        self.set(name, array)
        return parameter

    def find(self, name):
        parameter = library.attn_parameters_find(self.handle, name.encode())
        if not parameter:
            raise KeyError(name)
        return parameter

    def shapes(self):
        """Of all parameters, by their names."""
        found = {}
        for index in range(library.attn_parameters_count(self.handle)):
            parameter = library.attn_parameters_at(self.handle, index)
            value = library.attn_parameter_value(parameter)
            found[library.attn_parameter_name(parameter).decode()] = tuple(value.shape[: value.rank])
        return found

    def value(self, name):
        return view(library.attn_parameter_value(self.find(name))).copy()

    def set(self, name, array):
        memory = view(library.attn_parameter_value(self.find(name)))
        if memory.shape != array.shape:
            raise ValueError(f"{name} is {memory.shape}, not {array.shape}")
        memory[...] = array
        library.attn_parameter_changed(self.find(name))

    def gradient(self, name):
        memory = view(library.attn_parameter_gradient(self.find(name)))
        return np.zeros(self.value(name).shape, np.float32) if memory is None else memory.copy()

    def set_gradient(self, name, array):
        view(library.attn_parameter_gradient(self.find(name)))[...] = array

    def clear_gradients(self):
        library.attn_parameters_clear_gradients(self.handle)


class Tape:
    """A tape; its methods record the operations of the same names. Names stand for numbers of enums."""

    def __init__(self, context):
        self.context, self.handle, self.keep = context, c_void_p(), []
        context.call("tape_create", byref(self.handle))

    def __del__(self):
        library.attn_tape_destroy(self.handle)

    def begin(self, mode=GRADIENT, seed=0):
        self.keep = []
        library.attn_tape_begin(self.handle, mode, seed)

    def check(self, status=None):
        status = library.attn_tape_status(self.handle) if status is None else status
        if status:
            raise Error(status, library.attn_tape_error(self.handle).decode())

    def record(self, name, *arguments):
        """Structures go in by their address, arrays by that of their first element."""
        given = []
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                self.keep.append(argument)
                argument = argument.ctypes.data
            elif isinstance(argument, ctypes.Structure):
                self.keep.append(argument)
                argument = byref(argument)
            given.append(argument)
        result = getattr(library, "attn_" + name)(self.handle, *given)
        self.check()
        return result

    def backward(self, variable, gradient=None):
        if gradient is not None:
            gradient = np.ascontiguousarray(gradient, np.float32)
        address = None if gradient is None else gradient.ctypes.data
        self.check(library.attn_tape_backward(self.handle, variable, address))

    def shape(self, variable):
        return library.attn_variable_rows(variable), library.attn_variable_columns(variable)

    def value(self, variable):
        rows, columns = self.shape(variable)
        stride = library.attn_variable_stride(variable)
        if not rows * columns:
            return np.zeros((rows, columns), np.float32)
        memory = ctypes.cast(library.attn_variable_data(variable), POINTER(c_float))
        flat = np.ctypeslib.as_array(memory, ((rows - 1) * stride + columns,))
        return np.lib.stride_tricks.as_strided(flat, (rows, columns), (4 * stride, 4)).copy()

    def gradient(self, variable):
        """0 where nothing came back."""
        data = library.attn_variable_gradient(variable)
        if not data:
            return np.zeros(self.shape(variable), np.float32)
        return np.ctypeslib.as_array(ctypes.cast(data, POINTER(c_float)), self.shape(variable)).copy()

    def input(self, array, needs_gradient=True):
        array = np.ascontiguousarray(array, np.float32)
        return self.record("tape_input", array, *array.shape, int(needs_gradient))

    def parameter(self, parameter):
        return self.record("tape_parameter", parameter)

    def linear(self, x, weight, bias, activation="identity"):
        return self.record("tape_linear", x, weight, bias, ACTIVATIONS.index(activation))

    def embedding(self, table, ids):
        return self.record("tape_embedding", table, np.ascontiguousarray(ids, np.int32), len(ids))

    def embedding_bag(self, table, ids, lengths, kind):
        ids = np.ascontiguousarray(ids, np.int32)
        return self.record(
            "tape_embedding_bag", table, ids, offsets_of(lengths), len(lengths), BAGS.index(kind)
        )

    def concat(self, parts):
        return self.record("tape_concat", (c_void_p * len(parts))(*parts), len(parts))

    def slice(self, x, first, columns):
        return self.record("tape_slice", x, first, columns)

    def gather(self, x, rows):
        return self.record("tape_gather", x, np.ascontiguousarray(rows, np.int64), len(rows))

    def scatter(self, x, rows, count):
        return self.record("tape_scatter", x, np.ascontiguousarray(rows, np.int64), count)

    def activation(self, x, activation):
        return self.record("tape_activation", x, ACTIVATIONS.index(activation))

    def gate(self, gate, value, activation):
        return self.record("tape_gate", gate, value, ACTIVATIONS.index(activation))

    def softmax(self, x):
        return self.record("tape_softmax", x)

    def log_softmax(self, x):
        return self.record("tape_log_softmax", x)

    def layer_norm(self, x, gain, bias, epsilon):
        return self.record("tape_layer_norm", x, gain, bias, epsilon)

    def rms_norm(self, x, gain, epsilon):
        return self.record("tape_rms_norm", x, gain, epsilon)

    def pool(self, x, lengths, kind):
        return self.record("tape_pool", x, ragged(lengths), POOLS.index(kind))

    def pool_attention(self, x, scores, lengths):
        return self.record("tape_pool_attention", x, scores, ragged(lengths))

    def window(self, x, lengths, left, right):
        return self.record("tape_window", x, ragged(lengths), left, right)

    def convolution(self, x, lengths, weight, bias, **fields):
        return self.record(
            "tape_convolution", x, ragged(lengths), weight, bias, options("convolution", **fields)
        )

    def convolution_grid(self, x, sizes, weight, bias, **fields):
        return self.record(
            "tape_convolution_grid", x, grids(sizes), weight, bias, options("convolution", **fields)
        )

    def recurrent(self, x, lengths, kind, directions):
        """directions: for each the four parameters of RecurrentWeights."""
        weights = (RecurrentWeights * len(directions))(*[RecurrentWeights(*four) for four in directions])
        return self.record(
            "tape_recurrent", x, ragged(lengths), RECURRENCES.index(kind), weights, len(directions)
        )

    def rotary(self, x, heads, lengths, first=None, base=10000.0):
        first = None if first is None else np.ascontiguousarray(first, np.int64)
        return self.record("tape_rotary", x, heads, ragged(lengths), first, base)

    def cross_entropy(self, logits, labels, smoothing=0.0, class_weights=None, ignored=-1):
        wanted = CrossEntropyOptions()
        initialize(wanted, "cross_entropy_options_init")
        wanted.smoothing, wanted.ignored = smoothing, ignored
        if class_weights is not None:
            wanted.keep = np.ascontiguousarray(class_weights, np.float32)
            wanted.class_weights = wanted.keep.ctypes.data
        return self.record("tape_cross_entropy", logits, np.ascontiguousarray(labels, np.int32), wanted)

    def element_loss(self, kind, x, targets):
        """kind: binary_cross_entropy, squared_error or absolute_error."""
        return self.record("tape_" + kind, x, np.ascontiguousarray(targets, np.float32))

    def ctc(self, scores, lengths, targets, blank):
        """targets: of each sequence a list of columns."""
        flat = np.ascontiguousarray([symbol for target in targets for symbol in target], np.int32)
        return self.record(
            "tape_ctc", scores, ragged(lengths), flat, ragged([len(target) for target in targets]), blank
        )

    def apply(self, kind, layer, x, *arguments):
        """A layer of this kind; the last argument is, for most, places."""
        return self.record(kind + "_apply", layer, x, *arguments)


class Optimizer:
    """An optimiser of all parameters of a network; kind: one of OPTIMIZERS."""

    def __init__(self, made, kind, **fields):
        self.network, self.handle = made, c_void_p()
        wanted = options("optimizer", kind=OPTIMIZERS.index(kind), **fields)
        self.check(library.attn_optimizer_create(made.handle, byref(wanted), byref(self.handle)))

    def __del__(self):
        library.attn_optimizer_destroy(self.handle)

    def check(self, status):
        if status:
            raise Error(status, library.attn_context_error(self.network.context.handle).decode())

    def step(self):
        self.check(library.attn_optimizer_step(self.handle))

    def swap_average(self):
        self.check(library.attn_optimizer_swap_average(self.handle))

    @property
    def learning_rate(self):
        return library.attn_optimizer_learning_rate(self.handle)

    @property
    def gradient_norm(self):
        return library.attn_optimizer_gradient_norm(self.handle)

    def state(self):
        """What it keeps, by name."""
        found = {}
        for index in range(library.attn_optimizer_state_count(self.handle)):
            name, tensor = c_char_p(), Tensor()
            self.check(library.attn_optimizer_state(self.handle, index, byref(name), byref(tensor)))
            found[name.value.decode()] = view(tensor).copy()
        return found
