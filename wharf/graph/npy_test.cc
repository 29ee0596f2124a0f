#include "wharf/graph/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>

namespace wharf::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A file as NumPy writes it.
std::string File(const std::string& header, const std::string& elements, char major = 1) {
  std::string file = std::string("\x93NUMPY") + major + '\0';
  const size_t length = header.size();
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) file += static_cast<char>(length >> (8 * i) & 0xff);
  return file + header + elements;
}

std::string Header(const std::string& elements, const std::string& shape, const std::string& order = "False") {
  return "{'descr': '" + elements + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }         \n";
}

absl::StatusOr<Constant> Parse(const std::string& file) { return ParseNpy(std::as_bytes(std::span(file))); }

TEST(Npy, HoldsAnArray) {
  const std::vector<float> values = {1, -2, 3.5f, 0, 5, 6};
  const std::string elements(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  for (const char major : {1, 2, 3}) {
    const auto constant = Parse(File(Header("<f4", "(1, 2, 3)"), elements, major));
    ASSERT_TRUE(constant.ok()) << ToString(constant.status());
    EXPECT_EQ(constant->type, (TensorType{ElementType::kFloat, {1, 2, 3}}));
    EXPECT_THAT(constant->As<float>(), ElementsAre(1, -2, 3.5f, 0, 5, 6));
  }
  EXPECT_EQ(Parse(File(Header("|u1", "(4,)"), "abcd"))->type, (TensorType{ElementType::kUint8, {4}}));
  EXPECT_EQ(Parse(File(Header("<i8", "()"), "abcdefgh"))->type, (TensorType{ElementType::kInt64, {}}));
}

TEST(Npy, SaysWhatItCannotHold) {
  const auto why = [](const std::string& file) {
    const absl::Status status = Parse(file).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << ToString(status);
    return std::string(Message(status));
  };
  EXPECT_THAT(why(File(Header("<f4", "(2, 3)", "True"), std::string(24, 0))), HasSubstr("Fortran order"));
  EXPECT_THAT(why(File(Header(">f4", "(2,)"), std::string(8, 0))), HasSubstr("'>f4'"));
  EXPECT_THAT(why(File(Header("<c8", "(2,)"), std::string(16, 0))), HasSubstr("'<c8'"));
  EXPECT_THAT(why(File(Header("<f4", "(2,)"), "abc")), HasSubstr("float32[2] that holds 3 bytes"));
  EXPECT_THAT(why(File(Header("<f4", "(2, -1)"), "abc")), HasSubstr("negative"));
  EXPECT_THAT(why(File(Header("<f4", "(4000000000, 4000000000)"), "")), HasSubstr("larger than"));
  EXPECT_THAT(why(File(Header("<f4", "(99999999999999999999,)"), "")), HasSubstr("malformed"));
  EXPECT_THAT(why(File(Header("<f4", "(2"), std::string(8, 0))), HasSubstr("malformed"));
  EXPECT_THAT(why(File("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "abcd")),
              HasSubstr("malformed"));
  EXPECT_THAT(why(File(Header("<f4", "(2,)"), std::string(8, 0), 9)), HasSubstr("format version 9"));
  EXPECT_EQ(why("text"), "this is no .npy file");
}

Constant Numbers(const Shape& shape, const std::vector<float>& numbers) {
  const auto bytes = std::as_bytes(std::span(numbers));
  return {{ElementType::kFloat, shape}, std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end())};
}

TEST(Npy, ComesBackFromItsFile) {
  for (const Shape& shape : std::vector<Shape>{{}, {1}, {1, 1}}) {
    const auto file = ToNpy(Numbers(shape, {2.5f}));
    EXPECT_EQ(file.size() % 64, sizeof(float)) << "the elements begin at a multiple of 64";
    const auto array = ParseNpy(file);
    ASSERT_TRUE(array.ok()) << ToString(array.status());
    EXPECT_EQ(array->type, (TensorType{ElementType::kFloat, shape}));
    EXPECT_THAT(array->As<float>(), ElementsAre(2.5f));
  }
}

// What unzip and NumPy make of it is for tests/e2e; here that every array is there whole, under its name.
TEST(Npy, ArchivesHaveEveryArray) {
  const auto archive =
      ToNpz(std::vector<std::pair<std::string, Constant>>{{"a", Numbers({2}, {1, 2})}, {"b/c", Numbers({1, 1}, {3})}});
  ASSERT_TRUE(archive.ok()) << ToString(archive.status());
  const std::string text(reinterpret_cast<const char*>(archive->data()), archive->size());
  EXPECT_TRUE(text.starts_with("PK\3\4"));
  for (const auto& [name, first] :
       {std::pair<std::string, float>("a.npy", 1), std::pair<std::string, float>("b/c.npy", 3)}) {
    const size_t at = text.find(name), begin = at + name.size();
    ASSERT_NE(at, std::string::npos);
    ASSERT_EQ(text.compare(begin, 6, "\x93NUMPY"), 0);
    uint32_t size = 0;  // in the header, before the names' lengths
    std::memcpy(&size, &text[at - 8], sizeof(size));
    EXPECT_EQ(Parse(text.substr(begin, size))->As<float>()[0], first);
  }
  EXPECT_EQ(ToNpz(std::vector<std::pair<std::string, Constant>>{{std::string(70'000, 'n'), Numbers({1}, {1})}})
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

// Files that are cut short or changed somewhere are refused, or hold what they say.
RC_GTEST_PROP(NpyProperty, DamagedFilesAreRefusedOrWellFormed, ()) {
  std::string file = File(Header("<f4", "(2, 1)"), "abcdefgh");
  file.resize(*rc::gen::inRange<size_t>(0, file.size() + 1));
  if (!file.empty()) file[*rc::gen::inRange<size_t>(0, file.size())] = *rc::gen::arbitrary<char>();
  const auto constant = Parse(file);
  if (constant.ok()) {
    RC_ASSERT(static_cast<int64_t>(constant->bytes->size()) == constant->type.Bytes());
  } else {
    RC_ASSERT(constant.status().code() == absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace wharf::graph
