// Descriptions of graphs: what comes back of one, what it says of memory, and what strangers may write in it.
#include "wharf/device/dnn_graph.h"

#include <gtest/gtest.h>

#include <random>

#include "wharf/device/cuda_error.h"
#include "wharf/device/dnn_graph_testing.h"
#include "wharf/device/primitive.h"

namespace wharf::device {
namespace {

CudaError ErrorOfParsing(DnnDescriptionWriter& writer) {
  return CudaErrorOf(DnnDescription::Parse(writer.Take()).status());
}
bool Anywhere(DeviceAddress, uint64_t) { return true; }

TEST(DnnDescription, ComesBackAsItWasWritten) {
  DnnDescriptionWriter writer;
  const std::vector<int64_t> numbers{0, 1, -1, 63, 64, -64, -65, INT64_MAX, INT64_MIN};
  writer.Descriptor(kDnnTensor, 2);
  writer.Attribute(kDnnDims, dnn::kInteger, numbers);
  writer.Attribute(kDnnNumber, dnn::kInteger, {});
  writer.Descriptor(kDnnOperationGraph, 1);
  writer.Attribute(801, kDnnReference, std::vector<int64_t>{0});
  const auto description = DnnDescription::Parse(writer.Take());
  ASSERT_TRUE(description.ok()) << description.status();
  const auto descriptors = description->descriptors();
  ASSERT_EQ(descriptors.size(), 2u);
  EXPECT_EQ(descriptors[0].type, kDnnTensor);
  ASSERT_EQ(descriptors[0].attributes.size(), 2u);
  const auto read = descriptors[0].Find(kDnnDims)->numbers;
  EXPECT_EQ(std::vector<int64_t>(read.begin(), read.end()), numbers);
  EXPECT_TRUE(descriptors[0].Find(kDnnNumber)->numbers.empty());
  EXPECT_EQ(descriptors[0].One(kDnnNumber, 7), 7);
  EXPECT_EQ(descriptors[1].attributes[0].numbers[0], 0);
}

TEST(DnnDescription, IsRefusedIfItRefersToWhatDoesNotComeBefore) {
  for (const int64_t index : {int64_t{1}, int64_t{2}, int64_t{-1}, INT64_MAX}) {
    DnnDescriptionWriter writer;
    writer.Descriptor(kDnnTensor, 0);
    writer.Descriptor(kDnnOperationGraph, 1);
    writer.Attribute(801, kDnnReference, std::vector<int64_t>{index});
    EXPECT_EQ(ErrorOfParsing(writer), CudaError::kInvalidValue) << index;
  }
}

TEST(DnnDescription, IsRefusedIfItHasWhatIsNoPartOfAGraph) {
  for (const int64_t type : {2, 3, 4, 5, 7, 9, 16, 28, 34, 38}) {
    DnnDescriptionWriter writer;
    writer.Descriptor(type, 0);
    writer.Descriptor(kDnnOperationGraph, 0);
    EXPECT_EQ(ErrorOfParsing(writer), CudaError::kInvalidValue) << type;
  }
  for (const int64_t of : {0, 6, 24, 31, 1000}) {  // handles, pointers, text; types that are not known
    DnnDescriptionWriter writer;
    writer.Descriptor(kDnnOperationGraph, 1);
    writer.Attribute(800, of, std::vector<int64_t>{1});
    EXPECT_EQ(ErrorOfParsing(writer), CudaError::kNotSupported) << of;
  }
  DnnDescriptionWriter halves;
  halves.Descriptor(kDnnOperationGraph, 1);
  halves.Attribute(1705, kDnnFraction, std::vector<int64_t>{1, 2, 3});
  EXPECT_EQ(ErrorOfParsing(halves), CudaError::kInvalidValue);
}

TEST(DnnDescription, EndsWithItsGraph) {
  DnnDescriptionWriter writer;
  EXPECT_EQ(ErrorOfParsing(writer), CudaError::kInvalidValue);
  writer.Descriptor(kDnnTensor, 0);
  EXPECT_EQ(ErrorOfParsing(writer), CudaError::kInvalidValue);
  writer.Descriptor(kDnnOperationGraph, 0);
  writer.Descriptor(kDnnTensor, 0);
  EXPECT_EQ(ErrorOfParsing(writer), CudaError::kInvalidValue);
  for (size_t i = 0; i <= DnnDescription::kMostDescriptors; ++i) writer.Descriptor(kDnnTensor, 0);
  writer.Descriptor(kDnnOperationGraph, 0);
  EXPECT_EQ(ErrorOfParsing(writer), CudaError::kInvalidValue);
  EXPECT_EQ(CudaErrorOf(DnnDescription::Parse(std::vector<std::byte>(DnnDescription::kMostBytes + 1)).status()),
            CudaError::kInvalidValue);
}

TEST(DnnDescription, CountsAreOfWhatIsThere) {
  for (const int64_t count : {int64_t{-1}, int64_t{3}, int64_t{1} << 20, INT64_MAX}) {
    DnnDescriptionWriter attributes;
    attributes.Descriptor(kDnnOperationGraph, count);
    EXPECT_EQ(ErrorOfParsing(attributes), CudaError::kInvalidValue) << count;
    DnnDescriptionWriter numbers;
    numbers.Descriptor(kDnnOperationGraph, 1);
    numbers.Put(803), numbers.Put(dnn::kInteger), numbers.Put(count), numbers.Put(1);
    EXPECT_EQ(ErrorOfParsing(numbers), CudaError::kInvalidValue) << count;
  }
  DnnDescriptionWriter wide;
  wide.Descriptor(int64_t{1} << 40, 0);
  EXPECT_EQ(ErrorOfParsing(wide), CudaError::kInvalidValue);
}

TEST(DnnDescription, NoPartOfOneIsOne) {
  const std::vector<std::byte> whole = ScaledProduct(1, 2, 3, 1).description;
  ASSERT_TRUE(DnnDescription::Parse(whole).ok());
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(DnnDescription::Parse(std::span(whole).first(size)).ok()) << size;
  }
}

// Sanitizers watch.
TEST(DnnDescription, BytesOfStrangersDoNoHarm) {
  std::mt19937 random(1);
  const DnnGraph whole = ScaledProduct(0x1000, 0x2000, 0x3000, 1);
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    DnnGraph graph = whole;
    for (int j = 0; j < 1 + i % 4; ++j) {
      graph.description[random() % graph.description.size()] = static_cast<std::byte>(random());
    }
    if (!CheckPrimitive(graph, Anywhere).ok()) continue;
    ++accepted;
    for (const PrimitiveOperand& operand : OperandsOf(graph)) EXPECT_GT(operand.bytes, 0u);
    EXPECT_GE(WorkOf(graph), 0);
  }
  EXPECT_GT(accepted, 0);
}

TEST(DnnTensors, AreReadAndWhatAnOperationMakesIsWritten) {
  const auto tensors = DnnTensorsOf(ScaledProduct(0x1000, 0x2000, 0x3000, 1));
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  ASSERT_EQ(tensors->size(), 3u);
  const bool written[] = {false, false, true};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ((*tensors)[i].address, 0x1000 * (i + 1));
    EXPECT_EQ((*tensors)[i].bytes, 16u);
    EXPECT_EQ((*tensors)[i].written, written[i]);
    EXPECT_FALSE((*tensors)[i].ragged);
  }
}

TEST(DnnTensors, OfAnUnknownOperationAreAllWritten) {
  DnnGraphMaker maker;
  const int64_t a = maker.Tensor(1, {2}), b = maker.Tensor(2, {3}, DnnGraphMaker::kPlain, dnn::kBFloat16, {4});
  maker.Operation(99, {{9900, a}, {9901, b}});
  const auto tensors = DnnTensorsOf({{{1, 64}, {2, 128}}, {}, false, true, maker.Take()});
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  ASSERT_EQ(tensors->size(), 2u);
  EXPECT_TRUE((*tensors)[0].written && (*tensors)[1].written);
  EXPECT_EQ((*tensors)[0].bytes, 8u);
  EXPECT_EQ((*tensors)[1].bytes, 18u);
}

TEST(DnnTensors, ThatAreRaggedOnlyStartSomewhere) {
  DnnGraphMaker maker;
  const int64_t offsets = maker.Tensor(1, {3, 1, 1, 1});
  const int64_t q = maker.Tensor(2, {2, 1, 8, 4}, DnnGraphMaker::kPlain, dnn::kFloat, {}, offsets);
  const int64_t y = maker.Tensor(3, {2, 1, 8, 4});
  maker.Pointwise(dnn::kAdd, q, q, y);
  const DnnGraph graph{{{1, 0x1000}, {2, 0x2000}, {3, 0x3000}}, {}, false, true, maker.Take()};
  const auto only = [](DeviceAddress address, uint64_t bytes) {
    return bytes <= (address == 0x2000 ? 16u : address == 0x1000 ? 12u : 256u);
  };
  EXPECT_EQ(CheckPrimitive(graph, only), absl::OkStatus());
  EXPECT_EQ(OperandsOf(graph)[1].bytes, 256u);  // for who wants to be sure
  EXPECT_FALSE(OperandsOf(graph)[1].written);
}

TEST(DnnTensors, NeedAddressesAndValuesAndMemory) {
  DnnGraph graph = ScaledProduct(0x1000, 0x2000, 0x3000, 1);
  EXPECT_EQ(CheckPrimitive(graph, Anywhere), absl::OkStatus());
  const auto not_the_last = [](DeviceAddress address, uint64_t) { return address != 0x3000; };
  EXPECT_EQ(CudaErrorOf(CheckPrimitive(graph, not_the_last)), CudaError::kInvalidValue);
  const auto shorter = [](DeviceAddress, uint64_t bytes) { return bytes < 16; };
  EXPECT_EQ(CudaErrorOf(CheckPrimitive(graph, shorter)), CudaError::kInvalidValue);
  std::swap(graph.tensors, graph.scalars);
  EXPECT_EQ(CudaErrorOf(CheckPrimitive(graph, Anywhere)), CudaError::kInvalidValue);
  graph.scalars.clear();
  EXPECT_EQ(CudaErrorOf(CheckPrimitive(graph, Anywhere)), CudaError::kInvalidValue);
}

TEST(DnnTensors, HaveSizesThatMemoryCanHave) {
  const auto check = [](std::vector<int64_t> dims, std::vector<int64_t> strides, int type = dnn::kFloat,
                        DnnGraphMaker::Kind kind = DnnGraphMaker::kPlain) {
    DnnGraphMaker maker;
    const int64_t tensor = maker.Tensor(1, std::move(dims), kind, type, std::move(strides));
    maker.Pointwise(dnn::kAdd, tensor, tensor, tensor);
    return CudaErrorOf(CheckPrimitive(DnnGraph{{{1, 64}}, {{1, 0}}, false, true, maker.Take()}, Anywhere));
  };
  constexpr int64_t kBig = int64_t{1} << 40;
  EXPECT_EQ(check({2, 2}, {2, 1}), CudaError::kSuccess);
  EXPECT_EQ(check({0, 2}, {2, 1}), CudaError::kInvalidValue);
  EXPECT_EQ(check({2, 2}, {-2, 1}), CudaError::kInvalidValue);
  EXPECT_EQ(check({2, 2}, {1}), CudaError::kInvalidValue);
  EXPECT_EQ(check({kBig, 2}, {kBig, 1}), CudaError::kInvalidValue);
  EXPECT_EQ(check({INT64_MAX, 2}, {1, 1}), CudaError::kInvalidValue);
  EXPECT_EQ(check(std::vector<int64_t>(17, 1), {}), CudaError::kInvalidValue);
  EXPECT_EQ(check({1}, {1}, 99), CudaError::kNotSupported);
  EXPECT_EQ(check({1}, {1}, dnn::kFloat, DnnGraphMaker::kByValue), CudaError::kSuccess);
  EXPECT_EQ(check({3}, {1}, dnn::kFloat, DnnGraphMaker::kByValue), CudaError::kInvalidValue);
}

}  // namespace
}  // namespace wharf::device
