#include "wharf/cli/split/input.h"

#include <fmt/ranges.h>

#include <cstdio>
#include <utility>

#include "wharf/cli/common/files.h"
#include "wharf/graph/npy.h"
#include "wharf/graph/onnx/import.h"
#include "wharf/split/codec/image_file.h"
#include "wharf/split/profiler/profiler.h"
#include "wharf/split/runtime/edge_model.h"

namespace wharf::cli {
namespace {

using split::Encoding;
using split::RowCodec;
using split::RowCoding;

constexpr RowCodec kPlain{RowCoding::kPlain, 0}, kPacked{RowCoding::kPacked, 0}, kHalf{RowCoding::kHalf, 0};
constexpr int kDefaultQuality = 90;

// A NumPy array, an ONNX TensorProto, or raw bytes of the input's type.
absl::StatusOr<exec::TensorPtr> TensorOf(const exec::Engine& engine, const graph::TensorType& type,
                                         const std::string& path, const std::string& file) {
  const auto bytes = std::as_bytes(std::span(file));
  const bool numpy = graph::IsNpy(bytes);
  if (!numpy && static_cast<int64_t>(bytes.size()) == type.Bytes()) return engine.MakeTensor(type, bytes);
  const auto tensor = numpy ? graph::ParseNpy(bytes) : graph::ParseTensor(bytes);
  if (!tensor.ok() && numpy) return InvalidArgument("{}: {}", path, Message(tensor.status()));
  if (!tensor.ok()) {
    return InvalidArgument("{} is neither an image, nor an array (.npy, ONNX), nor {} bytes: the model's input is {}",
                           path, type.Bytes(), type.Text());
  }
  if (tensor->type != type) {
    return InvalidArgument("{} holds {}, the model's input is {}", path, tensor->type.Text(), type.Text());
  }
  return engine.MakeTensor(type, *tensor->bytes);
}

std::string Numbers(const std::vector<float>& numbers) { return fmt::format("{}", fmt::join(numbers, ", ")); }

}  // namespace

void AddSplitInput(CLI::App* command, SplitInputOptions& options) {
  CLI::Option* input =
      command->add_option("--input", options.path,
                          "An image (PNG, JPEG, binary PPM or PGM), an array of NumPy (.npy) or an ONNX tensor, or raw "
                          "bytes of the model's input; a folder of such files, a video, or - for pictures (JPEG, PNM) "
                          "or raw bytes on standard input: one inference each");
  input->type_name("FILE");
  command->add_flag("--random", options.random, "A random input, which is the default")->excludes(input);
  command
      ->add_option("--encoding", options.encoding,
                   "How rows travel. f32: as they are, images as normalised float32, like the papers; u8: images as "
                   "bytes, the rest as it is; packed: compressed without loss; f16: rounded to 16 bits; jpeg: images "
                   "as JPEGs; auto: planned, of everything exact and of what --allow-… allows")
      ->check(CLI::IsMember({"auto", "f32", "u8", "packed", "f16", "jpeg"}))
      ->capture_default_str();
  command->add_flag("--allow-f16", options.allow_half, "Rows may be rounded to 16 bits");
  command->add_option("--allow-jpeg", options.jpeg_quality, "An image may travel as JPEGs of this quality")
      ->check(CLI::Range(1, 100))
      ->type_name("QUALITY");
  command->add_option("--mean", options.mean, "Of an image's channels, 0 to 1; default: ImageNet's for 3, 0 for 1")
      ->delimiter(',');
  command->add_option("--std", options.deviation, "And their deviation; default: ImageNet's for 3, 1 for 1")
      ->delimiter(',');
}

absl::StatusOr<SplitInput> SplitInput::Load(const SplitInputOptions& options) {
  SplitInput input;
  input.options_ = options;
  input.piece_.name = "random";
  if (!options.path.empty()) {
    WHARF_ASSIGN_OR_RETURN(input.files_, InputFiles::Open(options.path));
  }
  if (!input.Pictures() && (options.encoding == "u8" || options.encoding == "jpeg")) {
    return InvalidArgument("--encoding {} is for images: say --input IMAGE", options.encoding);
  }
  return input;
}

graph::Normalization SplitInput::NormalizationFor(int64_t channels) const {
  graph::Normalization normalization = graph::Normalization::Default(channels);
  if (!options_.mean.empty()) normalization.mean = options_.mean;
  if (!options_.deviation.empty()) normalization.deviation = options_.deviation;
  return normalization;
}

absl::StatusOr<std::vector<std::byte>> SplitInput::ModelFor(std::span<const std::byte> onnx) const {
  if (!Pictures() || options_.encoding == "f32") return std::vector<std::byte>(onnx.begin(), onnx.end());
  return graph::WithByteInput(onnx, [this](int64_t channels) { return NormalizationFor(channels); });
}

std::vector<Encoding> SplitInput::Encodings() const {
  const RowCodec jpeg{RowCoding::kJpeg, static_cast<uint8_t>(options_.jpeg_quality.value_or(kDefaultQuality))};
  if (options_.encoding == "packed") return {{kPacked, kPacked}};
  if (options_.encoding == "f16") return {{kHalf, kHalf}};
  if (options_.encoding == "jpeg") return {{jpeg, kPlain}, {jpeg, kPacked}};
  if (options_.encoding != "auto") return {{kPlain, kPlain}};
  return split::AllowedEncodings(options_.allow_half, Pictures() ? options_.jpeg_quality : std::nullopt);
}

absl::StatusOr<bool> SplitInput::Advance(const graph::TensorType& type) {
  WHARF_ASSIGN_OR_RETURN(auto next, files_->Next(static_cast<size_t>(type.Bytes())));
  if (!next) return false;
  piece_ = *std::move(next);
  begun_ = true;
  const std::string conversion = split::ConversionOf(std::as_bytes(std::span(piece_.bytes)));
  if (!conversion.empty() && !std::exchange(conversion_said_, true)) {
    std::fprintf(stderr, "wharf: %s: %s\n", piece_.name.c_str(), conversion.c_str());
  }
  return true;
}

absl::StatusOr<exec::TensorPtr> SplitInput::Tensor(const exec::Engine& engine, const graph::TensorType& type) {
  if (files_ == nullptr) return split::SampleInput(engine, type);
  if (!begun_) {
    WHARF_ASSIGN_OR_RETURN(const bool there, Advance(type));
    if (!there) return InvalidArgument("{} holds no input", options_.path);
  }
  if (!piece_.image) return TensorOf(engine, type, piece_.name, piece_.bytes);
  return split::PictureTensor(engine, type, *piece_.image,
                              [this](int64_t channels) { return NormalizationFor(channels); });
}

std::string SplitInput::Text(const graph::TensorType& type) const {
  const auto input = graph::ImageInputOf(type);
  if (!piece_.image || !input.ok()) return "";
  const graph::Normalization normalization = NormalizationFor(input->channels);
  return fmt::format("{}: {} x {} pixels, stretched to {} x {}; of 0 to 1, mean {} and deviation {} taken out by {}\n",
                     piece_.name, piece_.image->width, piece_.image->height, input->width, input->height,
                     Numbers(normalization.mean), Numbers(normalization.deviation),
                     type.element == graph::ElementType::kUint8 ? "the model, which takes bytes" : "this machine");
}

}  // namespace wharf::cli
