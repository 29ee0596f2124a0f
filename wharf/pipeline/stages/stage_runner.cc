#include "wharf/pipeline/stages/stage_runner.h"

#include <cstring>

#include "wharf/pipeline/stages/blocks.h"
#include "wharf/split/codec/half.h"

namespace wharf::pipeline {
namespace {

void ToHalves(std::span<const std::byte> floats, std::byte* out) {
  for (size_t i = 0; i < floats.size(); i += sizeof(float), out += sizeof(uint16_t)) {
    float number;
    std::memcpy(&number, &floats[i], sizeof(number));
    const uint16_t half = split::ToHalf(number);
    std::memcpy(out, &half, sizeof(half));
  }
}

void FromHalves(std::span<const std::byte> halves, std::byte* out) {
  for (size_t i = 0; i < halves.size(); i += sizeof(uint16_t), out += sizeof(float)) {
    uint16_t half;
    std::memcpy(&half, &halves[i], sizeof(half));
    const float number = split::FromHalf(half);
    std::memcpy(out, &number, sizeof(number));
  }
}

}  // namespace

SampleFormat::SampleFormat(const graph::Graph& graph, int place) {
  const bool is_cut = place > 0 && place < static_cast<int>(graph.nodes.size());
  for (const int value : Frontier(graph, place)) {
    const graph::TensorType& type = graph.Type(value);
    values_.push_back({static_cast<size_t>(type.Bytes()), is_cut && type.element == graph::ElementType::kFloat});
    bytes_ += values_.back().Coded();
  }
}

std::vector<std::vector<std::byte>> SampleFormat::Join(std::span<const Sample> samples) const {
  std::vector<std::vector<std::byte>> values;
  size_t offset = 0;
  for (const Value& value : values_) {
    std::vector<std::byte>& joined = values.emplace_back(value.plain_bytes * samples.size());
    for (size_t i = 0; i < samples.size(); ++i) {
      const auto coded = std::span(samples[i]).subspan(offset, value.Coded());
      std::byte* const to = joined.data() + i * value.plain_bytes;
      if (value.half) {
        FromHalves(coded, to);
      } else if (!coded.empty()) {
        std::memcpy(to, coded.data(), coded.size());
      }
    }
    offset += value.Coded();
  }
  return values;
}

absl::StatusOr<std::vector<Sample>> SampleFormat::Divide(std::span<const std::vector<std::byte>> values,
                                                         int batch) const {
  if (values.size() != values_.size()) return Internal("{} values instead of {}", values.size(), values_.size());
  std::vector<Sample> samples(batch, Sample(bytes_));
  size_t offset = 0;
  for (size_t v = 0; v < values.size(); ++v) {
    const Value& value = values_[v];
    if (values[v].size() != value.plain_bytes * batch) {
      return Internal("{} bytes of {} samples of {}", values[v].size(), batch, value.plain_bytes);
    }
    for (int i = 0; i < batch; ++i) {
      const auto plain = std::span(values[v]).subspan(i * value.plain_bytes, value.plain_bytes);
      std::byte* const to = samples[i].data() + offset;
      if (value.half) {
        ToHalves(plain, to);
      } else if (!plain.empty()) {
        std::memcpy(to, plain.data(), plain.size());
      }
    }
    offset += value.Coded();
  }
  return samples;
}

absl::StatusOr<std::shared_ptr<const StageRunner>> StageRunner::Make(std::shared_ptr<const BatchedModel> model,
                                                                     int first, int end) {
  const int nodes = static_cast<int>(model->Graph().nodes.size());
  if (first < 0 || first >= end || end > nodes) return InvalidArgument("no nodes {} to {} of {}", first, end, nodes);
  for (const int place : {first, end}) {
    if (!model->CanCutAt(place)) return InvalidArgument("samples cannot be told apart before node {}", place);
  }
  return std::shared_ptr<const StageRunner>(new StageRunner(std::move(model), first, end));
}

absl::StatusOr<std::vector<Sample>> StageRunner::Run(std::span<const Sample> samples) const {
  WHARF_ASSIGN_OR_RETURN(const auto inputs, Enter(samples));
  WHARF_ASSIGN_OR_RETURN(const auto outputs, Compute(inputs));
  return Leave(outputs);
}

absl::StatusOr<BatchedModel::Tensors> StageRunner::Enter(std::span<const Sample> samples) const {
  const int batch = static_cast<int>(samples.size());
  if (batch < 1 || batch > MaxBatch()) return InvalidArgument("a batch of {} where 1 to {} fit", batch, MaxBatch());
  for (const Sample& sample : samples) {
    if (sample.size() != InputBytes())
      return InvalidArgument("{} bytes of a sample of {}", sample.size(), InputBytes());
  }
  return model_->Enter(first_, batch, input_.Join(samples));
}

absl::StatusOr<BatchedModel::Tensors> StageRunner::Compute(const BatchedModel::Tensors& inputs) const {
  return model_->Compute(first_, end_, inputs);
}

absl::StatusOr<std::vector<Sample>> StageRunner::Leave(const BatchedModel::Tensors& outputs) const {
  return output_.Divide(BatchedModel::Leave(outputs), outputs.batch);
}

}  // namespace wharf::pipeline
