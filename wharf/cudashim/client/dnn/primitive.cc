#include "wharf/cudashim/client/dnn/primitive.h"

#include <variant>

#include "wharf/cudashim/client/process.h"
#include "wharf/cudashim/client/stream_work.h"

namespace wharf::client {

CudaError PrimitiveOn(Connection& connection, device::StreamId stream, const device::Primitive& primitive) {
  const CudaError error = connection.managed.Give();
  if (error != CudaError::kSuccess) return error;
  return std::visit([&](const auto& what) { return connection.session->Post(offload::RunOf(stream, what)); },
                    primitive);
}

namespace {

CudaError Explain(const absl::Status& status, std::string* why) {
  if (!status.ok()) *why = std::string(Message(status));
  return device::CudaErrorOf(status);
}

}  // namespace

CudaError CheckPrimitive(const device::Primitive& primitive, std::string* why) {
  return Explain(device::CheckPrimitive(primitive, [](device::DeviceAddress, uint64_t) { return true; }), why);
}

device::DnnGraph DescribeNorm(const device::DnnNorm& norm) { return device::GraphOf(norm); }

CudaError CheckNetwork(const device::Recurrent& network, std::string* why) {
  return Explain(device::CheckShape(network), why);
}
int64_t CountWeights(const device::Recurrent& network) { return device::RecurrentWeights(network).Elements(); }
device::RecurrentWeights::Part FindMatrix(const device::Recurrent& network, int32_t layer, int32_t id) {
  return device::RecurrentWeights(network).Matrix(layer, id);
}
device::RecurrentWeights::Part FindBias(const device::Recurrent& network, int32_t layer, int32_t id) {
  return device::RecurrentWeights(network).Bias(layer, id);
}

CudaError RunPrimitive(StreamHandle stream, const device::Primitive& primitive, std::string* why) {
  CudaError error = CheckPrimitive(primitive, why);
  if (error != CudaError::kSuccess) return error;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  device::StreamId id = 0;
  error = connection->Resolve(stream, &id);
  bool captured = false;
  if (error == CudaError::kSuccess) error = connection->captures.Enter(id, &captured);
  if (error != CudaError::kSuccess) return error;
  return captured ? connection->captures.Add(id, cudagraph::PrimitiveParams{primitive})
                  : PrimitiveOn(*connection, id, primitive);
}

}  // namespace wharf::client
