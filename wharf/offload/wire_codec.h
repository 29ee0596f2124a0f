// The fields of the device's types for the codec (wire/codec.h), which encodes the structs of wire.h.
#pragma once

#include "wharf/offload/wire.h"
#include "wharf/wire/codec.h"

namespace wharf::wire {

template <>
struct FieldsOf<device::Dim3> {
  static auto Of(auto& v) { return std::tie(v.x, v.y, v.z); }
};
// `cooperative` is a field of Launch.
template <>
struct FieldsOf<device::LaunchConfig> {
  static auto Of(auto& v) { return std::tie(v.grid, v.block, v.shared_bytes); }
};
template <>
struct FieldsOf<device::Region> {
  static auto Of(auto& v) { return std::tie(v.address, v.row_pitch, v.slice_pitch); }
};
template <>
struct FieldsOf<device::Extent> {
  static auto Of(auto& v) { return std::tie(v.width, v.height, v.depth); }
};
template <>
struct FieldsOf<device::Symbol> {
  static auto Of(auto& v) { return std::tie(v.address, v.size); }
};
template <>
struct FieldsOf<device::Arena> {
  static auto Of(auto& v) { return std::tie(v.base, v.size, v.granularity, v.guarded); }
};
template <>
struct FieldsOf<device::ChannelFormat> {
  static auto Of(auto& v) { return std::tie(v.kind, v.bits, v.channels); }
};
template <>
struct FieldsOf<device::ImageDescription> {
  static auto Of(auto& v) {
    return std::tie(v.kind, v.format, v.base, v.width, v.height, v.depth, v.row_pitch, v.slice_pitch, v.layered,
                    v.cubemap, v.gather);
  }
};
template <>
struct FieldsOf<device::Mipmap> {
  static auto Of(auto& v) { return std::tie(v.levels, v.filter, v.bias, v.lowest, v.highest); }
};
template <>
struct FieldsOf<device::TextureDescription> {
  static auto Of(auto& v) {
    return std::tie(v.image, v.mipmap, v.address, v.filter, v.read, v.normalized_coordinates, v.border);
  }
};
template <>
struct FieldsOf<device::TensorMapDescription> {
  static auto Of(auto& v) {
    return std::tie(v.kind, v.data_type, v.rank, v.interleave, v.swizzle, v.l2_promotion, v.fill, v.address, v.extents,
                    v.strides, v.box, v.element_strides, v.lower_corner, v.upper_corner, v.channels_per_pixel,
                    v.pixels_per_column);
  }
};
template <>
struct FieldsOf<device::Gemm> {
  static auto Of(auto& v) {
    return std::tie(v.transpose_a, v.transpose_b, v.m, v.n, v.k, v.type_a, v.type_b, v.type_c, v.compute, v.a, v.b, v.c,
                    v.d, v.lda, v.ldb, v.ldc, v.ldd, v.stride_a, v.stride_b, v.stride_c, v.stride_d, v.batch,
                    v.pointer_arrays, v.scalars_on_device, v.alpha, v.beta, v.alpha_address, v.beta_address, v.epilogue,
                    v.bias);
  }
};
template <>
struct FieldsOf<device::Tensor> {
  static auto Of(auto& v) { return std::tie(v.address, v.type, v.dims, v.strides); }
};
template <>
struct FieldsOf<device::ActivationForm> {
  static auto Of(auto& v) { return std::tie(v.kind, v.coefficient); }
};
template <>
struct FieldsOf<device::Convolution> {
  static auto Of(auto& v) {
    return std::tie(v.transposed, v.flipped, v.tf32, v.x, v.filter, v.y, v.added, v.padding, v.stride, v.dilation,
                    v.groups, v.alpha, v.beta, v.bias, v.bias_type, v.activation);
  }
};
template <>
struct FieldsOf<device::Pooling> {
  static auto Of(auto& v) {
    return std::tie(v.kind, v.propagates_nan, v.x, v.y, v.window, v.padding, v.stride, v.alpha, v.beta);
  }
};
template <>
struct FieldsOf<device::BatchNorm> {
  static auto Of(auto& v) {
    return std::tie(v.x, v.y, v.scale, v.shift, v.mean, v.variance, v.epsilon, v.alpha, v.beta);
  }
};
template <>
struct FieldsOf<device::Softmax> {
  static auto Of(auto& v) { return std::tie(v.log, v.over_all, v.x, v.y, v.alpha, v.beta); }
};
template <>
struct FieldsOf<device::Pointwise> {
  static auto Of(auto& v) {
    return std::tie(v.kind, v.a, v.b, v.y, v.alpha_a, v.alpha_b, v.alpha, v.beta, v.activation);
  }
};
template <>
struct FieldsOf<device::Recurrent> {
  static auto Of(auto& v) {
    return std::tie(v.cell, v.bias, v.layout, v.both_directions, v.skips_input, v.tf32, v.fills, v.filling, v.type,
                    v.inputs, v.hidden, v.outputs, v.layers, v.steps, v.batch, v.lengths, v.x, v.y, v.weights, v.hx,
                    v.hy, v.cx, v.cy);
  }
};
template <>
struct FieldsOf<device::FourierSide> {
  static auto Of(auto& v) { return std::tie(v.address, v.rows, v.columns, v.stride, v.distance); }
};
// Flags come last: replay predicts arguments, as words at multiples of four bytes (replay/call_sites.h).
template <>
struct FieldsOf<device::Fourier> {
  static auto Of(auto& v) { return std::tie(v.in, v.out, v.sizes, v.batch, v.kind, v.inverse, v.type); }
};
template <>
struct FieldsOf<device::LapackOperand> {
  static auto Of(auto& v) { return std::tie(v.address, v.leading, v.stride); }
};
template <>
struct FieldsOf<device::Lapack> {
  static auto Of(auto& v) {
    return std::tie(v.operands, v.info, v.m, v.n, v.k, v.batch, v.tolerance, v.sweeps, v.routine, v.type, v.wide_pivots,
                    v.upper, v.right, v.sorted, v.transpose, v.left, v.right_vectors);
  }
};
template <>
struct FieldsOf<device::DnnBinding> {
  static auto Of(auto& v) { return std::tie(v.tensor, v.value); }
};
template <>
struct FieldsOf<device::DnnGraph> {
  static auto Of(auto& v) { return std::tie(v.tensors, v.scalars, v.description, v.deterministic, v.tensor_cores); }
};
template <>
struct FieldsOf<device::DeviceProperties> {
  static auto Of(auto& v) {
    return std::tie(v.name, v.driver, v.compute_major, v.compute_minor, v.total_memory, v.multiprocessors, v.clock_khz,
                    v.memory_clock_khz, v.memory_bus_bits, v.warp_size, v.max_threads_per_block,
                    v.max_threads_per_multiprocessor, v.max_blocks_per_multiprocessor, v.registers_per_block,
                    v.registers_per_multiprocessor, v.shared_per_block, v.shared_per_block_optin,
                    v.shared_per_multiprocessor, v.constant_memory, v.l2_bytes, v.max_block, v.max_grid, v.uuid);
  }
};
template <>
struct FieldsOf<device::ParameterLayout> {
  static auto Of(auto& v) { return std::tie(v.offset, v.size); }
};
template <>
struct FieldsOf<device::FunctionAttributes> {
  static auto Of(auto& v) {
    return std::tie(v.static_shared_bytes, v.const_bytes, v.local_bytes, v.max_threads_per_block, v.registers,
                    v.max_dynamic_shared_bytes, v.ptx_version, v.binary_version, v.parameters);
  }
};

}  // namespace wharf::wire

namespace wharf::offload {

using wire::Decode;
using wire::Decoder;
using wire::Encode;
using wire::Encoder;
using wire::HasFields;

}  // namespace wharf::offload
