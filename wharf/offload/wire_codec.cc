#include "wharf/offload/wire_codec.h"

namespace wharf::offload {
namespace {

// One list of fields per device struct, for both directions.
template <typename Properties, typename Visit>
void VisitProperties(Properties& v, Visit visit) {
  visit(v.name, v.driver, v.compute_major, v.compute_minor, v.total_memory, v.multiprocessors, v.clock_khz,
        v.memory_clock_khz, v.memory_bus_bits, v.warp_size, v.max_threads_per_block, v.max_threads_per_multiprocessor,
        v.max_blocks_per_multiprocessor, v.registers_per_block, v.registers_per_multiprocessor, v.shared_per_block,
        v.shared_per_block_optin, v.shared_per_multiprocessor, v.constant_memory, v.l2_bytes, v.max_block, v.max_grid,
        v.uuid);
}

template <typename Gemm, typename Visit>
void VisitGemm(Gemm& v, Visit visit) {
  visit(v.transpose_a, v.transpose_b, v.m, v.n, v.k, v.type_a, v.type_b, v.type_c, v.compute, v.a, v.b, v.c, v.d, v.lda,
        v.ldb, v.ldc, v.ldd, v.stride_a, v.stride_b, v.stride_c, v.stride_d, v.batch, v.pointer_arrays,
        v.scalars_on_device, v.alpha, v.beta, v.alpha_address, v.beta_address, v.epilogue, v.bias);
}

template <typename Attributes, typename Visit>
void VisitAttributes(Attributes& v, Visit visit) {
  visit(v.static_shared_bytes, v.const_bytes, v.local_bytes, v.max_threads_per_block, v.registers,
        v.max_dynamic_shared_bytes, v.ptx_version, v.binary_version);
}

}  // namespace

void Encoder::PutPlain(const device::Gemm& v) {
  VisitGemm(v, [this](const auto&... field) { PutAll(field...); });
}
void Encoder::PutPlain(const device::DeviceProperties& v) {
  VisitProperties(v, [this](const auto&... field) { PutAll(field...); });
}
void Encoder::PutPlain(const device::FunctionAttributes& v) {
  VisitAttributes(v, [this](const auto&... field) { PutAll(field...); });
  Put(static_cast<uint32_t>(v.parameters.size()));
  for (const device::ParameterLayout& parameter : v.parameters) PutAll(parameter.offset, parameter.size);
}

void Decoder::GetPlain(device::Gemm& v) {
  VisitGemm(v, [this](auto&... field) { GetAll(field...); });
}
void Decoder::GetPlain(device::DeviceProperties& v) {
  VisitProperties(v, [this](auto&... field) { GetAll(field...); });
}
void Decoder::GetPlain(device::FunctionAttributes& v) {
  VisitAttributes(v, [this](auto&... field) { GetAll(field...); });
  uint32_t count = 0;
  Get(count);
  if (count > in_.size() / sizeof(device::ParameterLayout)) {
    ok_ = false;
    return;
  }
  v.parameters.resize(count);
  for (device::ParameterLayout& parameter : v.parameters) GetAll(parameter.offset, parameter.size);
}

absl::Status Decoder::Finish() const {
  if (!ok_) return DataLoss("message shorter than its fields");
  if (!in_.empty()) return DataLoss("{} bytes left over after a message's fields", in_.size());
  return absl::OkStatus();
}

}  // namespace wharf::offload
