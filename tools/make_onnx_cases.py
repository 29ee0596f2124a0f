#!/usr/bin/python3
"""Small models of operator sets that libonnx does not know, with what ONNX's reference implementation makes of them.

    python3 -m venv onnx && onnx/bin/pip install onnx==1.23.2
    onnx/bin/python tools/make_onnx_cases.py wharf/exec/testdata/newer_sets

One for each way in which an operator of ours changed after set 17, and for each operator that is new since. Each becomes
a directory as ONNX's own backend tests have them: NAME/model.onnx and NAME/test_data_set_0/{input,output}_N.pb. Numbers
come from a fixed seed. What they make is kept in the repository; exec.conformance_test runs it.
"""
import pathlib
import sys

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

rng = np.random.default_rng(7)


def real(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def ints(*numbers):
    return np.array(numbers, dtype=np.int64)


# Name, operator, operator set, inputs (an array: the model's own; a pair: known to the model), attributes, outputs.
def cases():
    axes_reduced = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "SumSquare")
    for kind in axes_reduced:
        x = np.abs(real(2, 3, 4, 5)) + np.float32(0.1)
        yield f"reduce_{kind.lower()}_axes", f"Reduce{kind}", 18, [x, ("axes", ints(-1, 1))], {"keepdims": 0}, 1
    yield "reduce_max_all", "ReduceMax", 24, [real(2, 3, 4)], {}, 1
    yield "reduce_mean_noop", "ReduceMean", 18, [real(2, 3), ("axes", ints())], {"noop_with_empty_axes": 1}, 1
    yield "reduce_max_bool", "ReduceMax", 20, [real(3, 4) > 0, ("axes", ints(1))], {}, 1
    yield "reduce_min_bool", "ReduceMin", 20, [real(3, 4) > 0, ("axes", ints(0))], {"keepdims": 0}, 1
    yield "split_even", "Split", 18, [real(2, 6, 3)], {"axis": 1, "num_outputs": 3}, 3
    yield "split_uneven", "Split", 18, [real(2, 7, 3)], {"axis": -2, "num_outputs": 3}, 3
    yield "split_sizes", "Split", 22, [real(7), ("sizes", ints(2, 5))], {}, 2
    value = ("value", np.float32(1.5))
    yield "pad_axes", "Pad", 18, [real(1, 2, 3, 4), ("pads", ints(1, 2, 0, 1)), value, ("axes", ints(-1, 2))], {}, 1
    yield "pad_wrap", "Pad", 19, [real(1, 1, 3, 4), ("pads", ints(0, 0, 2, 1, 0, 0, 1, 3))], {"mode": "wrap"}, 1
    yield "pad_reflect", "Pad", 23, [real(1, 1, 4, 4), ("pads", ints(0, 0, 2, 1, 0, 0, 1, 3))], {"mode": "reflect"}, 1
    nothing = ("", None)
    sizes, scales = ("sizes", ints(9, 7)), ("scales", np.array([2.5, 1.5], dtype=np.float32))
    image = real(1, 2, 5, 6)
    yield "resize_sizes_axes", "Resize", 18, [image, nothing, nothing, sizes], {"axes": [2, 3], "mode": "linear"}, 1
    yield "resize_scales_axes", "Resize", 19, [image, nothing, scales], {"axes": [3, 2], "mode": "cubic"}, 1
    symmetric = {"coordinate_transformation_mode": "half_pixel_symmetric", "axes": [2, 3], "mode": "linear"}
    yield "resize_symmetric", "Resize", 19, [image, nothing, ("scales", np.array([0.7, 0.6], dtype=np.float32))], symmetric, 1
    region = ("region", np.array([0.2, 0.1, 0.8, 0.9], dtype=np.float32))
    crop = {"coordinate_transformation_mode": "tf_crop_and_resize", "axes": [2, 3], "mode": "linear"}
    yield "resize_crop_axes", "Resize", 18, [image, region, nothing, ("sizes", ints(3, 4))], crop, 1
    pool = {"kernel_shape": [2, 3], "dilations": [2, 1], "pads": [1, 1, 0, 1], "strides": [1, 2]}
    yield "average_pool_dilated", "AveragePool", 19, [real(1, 3, 7, 8)], pool, 1
    yield "average_pool_dilated_padded", "AveragePool", 22, [real(2, 2, 7, 8)], {**pool, "count_include_pad": 1}, 1
    yield "average_pool_plain", "AveragePool", 22, [real(1, 2, 6, 6)], {"kernel_shape": [2, 2], "dilations": [1, 1]}, 1
    yield "cast_saturate", "Cast", 19, [real(3, 4) * 100], {"to": TensorProto.INT32, "saturate": 1}, 1
    yield "cast_round_mode", "Cast", 24, [real(3, 4)], {"to": TensorProto.DOUBLE, "round_mode": "up"}, 1
    yield "gelu", "Gelu", 20, [real(2, 3, 4)], {}, 1
    yield "gelu_tanh", "Gelu", 20, [real(2, 3, 4) * 3], {"approximate": "tanh"}, 1
    groups, by_group = {"num_groups": 2}, [real(2), real(2)]
    yield "group_norm_18", "GroupNormalization", 18, [real(2, 4, 3, 5), *by_group], {**groups, "epsilon": 0.01}, 1
    yield "group_norm_21", "GroupNormalization", 21, [real(2, 4, 3, 5), real(4), real(4)], groups, 1
    yield "group_norm_flat", "GroupNormalization", 21, [real(2, 6, 5), real(6), real(6)], {"num_groups": 3}, 1
    yield "mish", "Mish", 18, [real(2, 5)], {}, 1
    yield "rms_norm", "RMSNormalization", 23, [real(2, 3, 4), real(4)], {}, 1
    yield "rms_norm_axis", "RMSNormalization", 23, [real(2, 3, 4), real(3, 4)], {"axis": 1, "epsilon": 0.1}, 1
    yield "swish", "Swish", 24, [real(2, 5)], {}, 1
    yield "swish_alpha", "Swish", 24, [real(2, 5)], {"alpha": 0.5}, 1
    heads = [real(1, 2, 3, 4), real(1, 2, 5, 4), real(1, 2, 5, 4)]
    yield "attention", "Attention", 23, heads, {}, 1
    yield "attention_mask", "Attention", 24, [*heads, real(3, 5)], {"scale": 0.3}, 1
    yield "attention_bool_mask", "Attention", 23, [*heads, np.tri(3, 5, 2) > 0], {}, 1
    yield "attention_causal", "Attention", 23, heads, {"is_causal": 1}, 1
    flat = [real(1, 3, 8), real(1, 5, 8), real(1, 5, 8)]
    yield "attention_flat", "Attention", 23, flat, {"q_num_heads": 2, "kv_num_heads": 2}, 1
    block = {"blocksize": 2}
    yield "space_to_depth_28", "SpaceToDepth", 28, [real(1, 2, 4, 6)], block, 1
    yield "depth_to_space_28", "DepthToSpace", 28, [real(1, 8, 2, 3)], {**block, "mode": "CRD"}, 1
    yield "celu_28", "Celu", 28, [real(2, 5)], {"alpha": 2.0}, 1
    yield "mod_28", "Mod", 28, [real(2, 5) * 7, np.full((2, 5), 3, np.float32)], {"fmod": 1}, 1
    yield "is_inf_20", "IsInf", 20, [np.array([1, np.inf, -np.inf, np.nan], np.float32)], {"detect_negative": 0}, 1
    yield "layer_norm_24", "LayerNormalization", 24, [real(2, 3, 4), real(4), real(4)], {}, 1
    yield "max_pool_22", "MaxPool", 22, [real(1, 2, 6, 6)], {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}, 1
    yield "reshape_25", "Reshape", 25, [real(2, 3, 4), ("shape", ints(0, -1))], {}, 1
    weights = real(4, 2, 3, 3)
    yield "conv_transpose_22", "ConvTranspose", 22, [real(1, 4, 3, 3), weights], {"strides": [2, 2], "pads": [1, 1, 0, 0]}, 1


def write(directory, name, operator, operator_set, inputs, attributes, outputs):
    known = [numpy_helper.from_array(np.asarray(one[1]), one[0]) for one in inputs if isinstance(one, tuple) and one[0]]
    given = [(f"x{i}", one) for i, one in enumerate(inputs) if not isinstance(one, tuple)]
    names = [one[0] if isinstance(one, tuple) else f"x{i}" for i, one in enumerate(inputs)]
    makes = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(operator, names, makes, **attributes)

    def model(results):
        def infos(pairs):
            return [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in pairs]

        graph = helper.make_graph([node], name, infos(given), infos(results), known)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", operator_set)])

    blank = [(n, np.zeros((), np.float32)) for n in makes]
    results = [np.asarray(one) for one in ReferenceEvaluator(model(blank)).run(None, dict(given))]
    made = model(list(zip(makes, results)))
    if name != "group_norm_18":  # which the checker calls deprecated; files have it all the same
        checker.check_model(made)
    data = directory / name / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    (directory / name / "model.onnx").write_bytes(made.SerializeToString())
    for kind, arrays in (("input", [one for _, one in given]), ("output", results)):
        for i, array in enumerate(arrays):
            (data / f"{kind}_{i}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())


def main():
    directory = pathlib.Path(sys.argv[1])
    for case in cases():
        write(directory, *case)


if __name__ == "__main__":
    main()
