#include "wharf/device/pack/pack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "wharf/base/read_file.h"

namespace wharf::device::pack {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Ptx(const std::string& kernels) { return ".version 8.5\n.target sm_75\n.address_size 64\n" + kernels; }
std::string Kernel(const std::string& name) { return ".visible .entry " + name + "(.param .u64 a) { ret; }\n"; }

class PackTest : public ::testing::Test {
 protected:
  PackTest() { std::filesystem::create_directory(folder_); }
  ~PackTest() override { std::filesystem::remove_all(folder_); }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::unique_ptr<Pack> Make() const {
    PackWriter writer;
    EXPECT_EQ(writer.Add(Ptx(Kernel("a") + Kernel("_ZN35_GLOBAL__N__b95b4e44_4_a_cu_counter1bEv")), "first.cu"),
              absl::OkStatus());
    EXPECT_EQ(writer.Add(Ptx(Kernel("a") + Kernel("c")), "second.cu"), absl::OkStatus());
    EXPECT_EQ(writer.Add(Ptx(Kernel("a") + Kernel("c")), "the same again.cu"), absl::OkStatus());
    EXPECT_EQ(writer.modules(), 2U);
    EXPECT_EQ(writer.kernels(), 4U);
    EXPECT_EQ(writer.Write(Path("pack")), absl::OkStatus());
    auto pack = Pack::Open(Path("pack"));
    EXPECT_TRUE(pack.ok()) << pack.status();
    return *std::move(pack);
  }
  // The status of opening what `content` says.
  absl::Status StatusOf(const std::string& content) const {
    std::ofstream(Path("other"), std::ios::binary) << content;
    return Pack::Open(Path("other")).status();
  }

  const std::string folder_ = std::filesystem::temp_directory_path() / ("wharf_pack_test_" + std::to_string(getpid()));
};

TEST_F(PackTest, FindsModulesByKernel) {
  const auto pack = Make();
  EXPECT_EQ(pack->modules(), 2U);
  EXPECT_EQ(pack->entries(), 4U);
  EXPECT_THAT(*pack->Find("a"), ElementsAre(0, 1));
  EXPECT_THAT(*pack->Find("c"), ElementsAre(1));
  EXPECT_THAT(*pack->Find("_ZN@_GLOBAL__N__4_a_cu@1bEv"), ElementsAre(0));
  EXPECT_THAT(*pack->Find("_ZN35_GLOBAL__N__b95b4e44_4_a_cu_counter1bEv"), IsEmpty());
  EXPECT_THAT(*pack->Find("d"), IsEmpty());
  EXPECT_EQ(*pack->Text(1), Ptx(Kernel("a") + Kernel("c")));
  EXPECT_EQ(*pack->Source(1), "second.cu");
}

TEST_F(PackTest, SaysWhatIsInIt) {
  const auto notes = *Make()->Notes();
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_EQ(notes[0].source, "first.cu");
  EXPECT_THAT(notes[0].kernels, ElementsAre("a", "_ZN35_GLOBAL__N__b95b4e44_4_a_cu_counter1bEv"));
  EXPECT_THAT(notes[1].kernels, ElementsAre("a", "c"));
  EXPECT_EQ(notes[1].text_bytes, Ptx(Kernel("a") + Kernel("c")).size());
  EXPECT_GT(notes[1].packed_bytes, 0U);
}

TEST_F(PackTest, TakesNothingWithoutKernels) {
  PackWriter writer;
  EXPECT_EQ(writer.Add("no PTX", "x.cu").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(writer.Add(Ptx(""), "x.cu").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(writer.modules(), 0U);
}

TEST_F(PackTest, ReplacesTheFileWhole) {
  const auto pack = Make();
  EXPECT_EQ(PackWriter().Write(Path("pack")), absl::OkStatus());
  EXPECT_EQ((*Pack::Open(Path("pack")))->modules(), 0U);
  EXPECT_EQ(*pack->Text(1), Ptx(Kernel("a") + Kernel("c"))) << "who has it open keeps it";
  EXPECT_EQ(PackWriter().Write(Path("missing/pack")).code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(Path("pack.new")));
}

TEST_F(PackTest, RefusesWhatIsNoPack) {
  EXPECT_EQ(Pack::Open(Path("missing")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Pack::Open(folder_).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(StatusOf("").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(StatusOf(std::string(4096, 'x')).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(Message(StatusOf("x"))), HasSubstr("other: not a kernel pack"));
}

TEST_F(PackTest, RefusesAPackThatIsCutShort) {
  Make();
  const std::string whole = *ReadFile(Path("pack"));
  EXPECT_EQ(StatusOf(whole), absl::OkStatus());
  for (size_t size = 112; size < whole.size(); ++size) {
    EXPECT_EQ(StatusOf(whole.substr(0, size)).code(), absl::StatusCode::kDataLoss) << size;
  }
}

TEST_F(PackTest, NoticesEveryChangedByte) {
  Make();
  const std::string whole = *ReadFile(Path("pack"));
  for (size_t i = 0; i < whole.size(); ++i) {
    if (i >= 20 && i < 24) continue;  // reserved
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 0x55);
    std::ofstream(Path("other"), std::ios::binary) << changed;
    const auto pack = Pack::Open(Path("other"));
    if (!pack.ok()) continue;
    const bool sound = (*pack)->Text(0).ok() && (*pack)->Text(1).ok() && (*pack)->Notes().ok() &&
                       (*pack)->Source(0).value_or("") == "first.cu" && (*pack)->Source(1).value_or("") == "second.cu";
    EXPECT_FALSE(sound) << "byte " << i;
  }
}

}  // namespace
}  // namespace wharf::device::pack
