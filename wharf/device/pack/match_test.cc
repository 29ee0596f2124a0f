#include "wharf/device/pack/match.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace wharf::device::pack {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kHead = ".version 8.5\n.target sm_75\n.address_size 64\n";

std::string Entry(const std::string& name, const std::string& parameters, const std::string& body = "") {
  return fmt::format(".visible .entry {}({}) {{ {} ret; }}\n", name, parameters, body);
}

class MatchTest : public ::testing::Test {
 protected:
  ~MatchTest() override { std::filesystem::remove_all(folder_); }
  // A pack of a module for each of `texts`.
  std::string Make(const std::string& name, const std::vector<std::string>& texts) const {
    std::filesystem::create_directory(folder_);
    PackWriter writer;
    for (size_t i = 0; i < texts.size(); ++i) {
      EXPECT_EQ(writer.Add(std::string(kHead) + texts[i], fmt::format("{}{}.cu", name, i)), absl::OkStatus());
    }
    const std::string path = folder_ + "/" + name;
    EXPECT_EQ(writer.Write(path), absl::OkStatus());
    return path;
  }
  static absl::StatusOr<Match> Find(const std::vector<std::string>& paths, const fatbin::MachineCode& code) {
    const auto set = PackSet::Open(paths);
    EXPECT_TRUE(set.ok()) << set.status();
    return (*set)->Find(code);
  }
  static fatbin::MachineCode Code(std::vector<fatbin::MachineKernel> kernels,
                                  std::vector<fatbin::MachineVariable> variables = {}) {
    return {75, std::move(kernels), std::move(variables)};
  }

  const std::string folder_ = std::filesystem::temp_directory_path() / ("wharf_match_test_" + std::to_string(getpid()));
};

TEST_F(MatchTest, TakesTheModuleOfTheSource) {
  const std::string pack = Make("p", {Entry("a", ".param .u64 x"), Entry("a", ".param .u64 x") + Entry("b", "")});
  const auto match = Find({pack}, Code({{"a", {{0, 8}}}, {"b", {}}}));
  ASSERT_TRUE(match.ok()) << match.status();
  EXPECT_EQ(match->origin, pack + " (p1.cu)");
  EXPECT_EQ(match->kernels.at("b"), "b");
}

TEST_F(MatchTest, PrefersASourceWithNothingElse) {
  const std::string pack = Make("p", {Entry("a", ".param .u64 x") + Entry("b", ""), Entry("a", ".param .u64 x")});
  EXPECT_EQ(Find({pack}, Code({{"a", {{0, 8}}}}))->origin, pack + " (p1.cu)");
}

TEST_F(MatchTest, FindsKernelsAndVariablesOfAnonymousNamespaces) {
  const auto name = [](const char* hash, const char* rest) {
    return fmt::format("_ZN35_GLOBAL__N__{}_4_a_cu_counter{}", hash, rest);
  };
  const std::string pack = Make("p", {".global .u32 " + name("b95b4e44", "6secretE") + " = 7;\n" +
                                      Entry(name("b95b4e44", "6hiddenEPf"), ".param .u64 x")});
  const auto match =
      Find({pack}, Code({{name("01234567", "6hiddenEPf"), {{0, 8}}}}, {{name("01234567", "6secretE"), 4, false}}));
  ASSERT_TRUE(match.ok()) << match.status();
  EXPECT_EQ(match->kernels.at("_ZN@_GLOBAL__N__4_a_cu@6hiddenEPf"), name("b95b4e44", "6hiddenEPf"));
  EXPECT_EQ(match->variables.at("_ZN@_GLOBAL__N__4_a_cu@6secretE"), name("b95b4e44", "6secretE"));
}

TEST_F(MatchTest, SaysThatNoPackHasIt) {
  const absl::Status status = Find({Make("p", {Entry("a", "")})}, Code({{"b", {}}})).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("wharf pack build"));
  EXPECT_THAT(std::string(Message(status)), HasSubstr("sm_75"));
}

TEST_F(MatchTest, RefusesOtherParameters) {
  const std::string pack = Make("p", {Entry("a", ".param .u64 x, .param .u32 n")});
  EXPECT_TRUE(Find({pack}, Code({{"a", {{0, 8}, {8, 4}}}})).ok());
  for (const std::vector<ParameterLayout>& other :
       {std::vector<ParameterLayout>{}, {{0, 8}}, {{0, 8}, {8, 8}}, {{0, 8}, {12, 4}}, {{0, 8}, {8, 4}, {12, 4}}}) {
    const absl::Status status = Find({pack}, Code({{"a", other}})).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(Message(status)), HasSubstr("the parameters of kernel a take 8 at 0, 4 at 8 bytes there"));
    EXPECT_THAT(std::string(Message(status)), HasSubstr(pack + " (p0.cu)"));
  }
}

TEST_F(MatchTest, RefusesVariablesOfAnotherSize) {
  const std::string pack =
      Make("p", {".const .b8 table[20];\n.global .b8 $str[5] = {1};\n" + Entry("a", ".param .u64 x")});
  EXPECT_TRUE(Find({pack}, Code({{"a", {{0, 8}}}}, {{"table", 20, true}, {"$str", 9, false}})).ok());
  const absl::Status status = Find({pack}, Code({{"a", {{0, 8}}}}, {{"table", 24, true}})).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("variable table has 20 bytes there, 24 in the program"));
}

TEST_F(MatchTest, RefusesASourceWithoutAllKernels) {
  const absl::Status status = Find({Make("p", {Entry("a", "")})}, Code({{"a", {}}, {"b", {}}})).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("has 1 of the 2 kernels of its source file"));
}

TEST_F(MatchTest, TakesWhatFitsOfSeveral) {
  const std::string pack = Make("p", {Entry("a", ".param .u32 x"), Entry("a", ".param .u64 x")});
  EXPECT_EQ(Find({pack}, Code({{"a", {{0, 8}}}}))->origin, pack + " (p1.cu)");
}

TEST_F(MatchTest, RefusesWhatCannotBeToldApart) {
  const std::string first = Make("p", {Entry("a", "", "bar.sync 0;")}), second = Make("q", {Entry("a", "")});
  const absl::Status status = Find({first, second}, Code({{"a", {}}})).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("cannot be told apart"));
  EXPECT_TRUE(Find({first, first}, Code({{"a", {}}})).ok()) << "the same twice is the same";
}

TEST_F(MatchTest, TakesEitherOfSourcesThatMakeTheSameKernels) {
  const auto body = [](int number, const char* variable) {
    return fmt::format("$L__BB{}_2: ld.global.u32 %r1, [{}]; bra $L__BB{}_2;", number, variable, number);
  };
  const auto table = [](int value) {
    return fmt::format(".global .u32 table = {};\n.global .u32 file{};\n", value, value);
  };
  const fatbin::MachineCode code = Code({{"a", {}}, {"b", {}}});
  const std::string one = Make("p", {table(1) + Entry("a", "", body(0, "table")) + Entry("b", "", body(1, "table"))});
  const std::string turned =
      Make("q", {table(1) + Entry("b", "", body(0, "table")) + Entry("a", "", body(1, "table"))});
  EXPECT_EQ(Find({one, turned}, code)->origin, one + " (p0.cu)");
  for (const std::string& text : {table(2) + Entry("b", "", body(0, "table")) + Entry("a", "", body(1, "table")),
                                  table(1) + Entry("b", "", body(0, "table")) + Entry("a", "", body(1, "file1"))}) {
    EXPECT_EQ(Find({one, Make("r", {text})}, code).status().code(), absl::StatusCode::kFailedPrecondition) << text;
  }
}

}  // namespace
}  // namespace wharf::device::pack
