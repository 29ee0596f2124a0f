#include "wharf/cudashim/api_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "wharf/offload/wire.h"

namespace wharf::cudashim {
namespace {

using offload::CallClass;

template <typename... Ops>
std::map<std::string, offload::Answer> Answers(offload::OpList<Ops...>) {
  return {{Ops::kName, Ops::kAnswer}...};
}

std::vector<std::string> Words(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

TEST(ApiTable, NamesAreUniqueWithinALibrary) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const ApiRow& row : ApiTable()) EXPECT_TRUE(seen.emplace(row.library, row.name).second) << row.name;
}

TEST(ApiTable, IsSortedAndHasTheLibraries) {
  const auto rows = ApiTable();
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end(), [](const ApiRow& a, const ApiRow& b) {
    return std::tie(a.library, a.name) < std::tie(b.library, b.name);
  }));
  std::set<std::string_view> libraries;
  for (const ApiRow& row : rows) libraries.insert(row.library);
  EXPECT_THAT(libraries, ::testing::UnorderedElementsAre("cublas", "cublasLt", "cuda", "cudart", "cudnn", "cufft",
                                                         "curand", "cusolver", "cusparse"));
}

// The class is what the operations allow: nothing for local calls; for a posted call nothing that is answered. (Facts
// that never change, such as a kernel's attributes, may be asked once by a call of any class and are not listed.)
TEST(ApiTable, ClassesAgreeWithTheOperationsOfTheWire) {
  const auto answers = Answers(offload::AllOps{});
  for (const ApiRow& row : ApiTable()) {
    const auto words = Words(row.operations);
    const bool asks = std::any_of(words.begin(), words.end(), [&](const std::string& word) {
      EXPECT_TRUE(answers.contains(word)) << row.name << " names no operation of the wire: " << word;
      return answers.contains(word) && answers.at(word) == offload::Answer::kBlocking;
    });
    if (!row.covered) {
      EXPECT_TRUE(words.empty()) << row.name;
      continue;
    }
    switch (row.call_class) {
      case CallClass::kPlumbing:
      case CallClass::kLocal:
        EXPECT_TRUE(words.empty()) << row.name;
        break;
      case CallClass::kPosted:
        EXPECT_FALSE(asks) << row.name;
        break;
      case CallClass::kBlocking:
        EXPECT_TRUE(asks) << row.name;
        break;
    }
  }
}

TEST(ApiTable, GettersThatProgramsCallByTheThousandAreLocal) {
  for (const std::string_view name : {"cudaGetDevice", "cudaGetLastError", "cudaPeekAtLastError", "cudaSetDevice",
                                      "cudaDeviceGetAttribute", "cudaStreamIsCapturing", "cuCtxGetCurrent"}) {
    const auto rows = ApiTable();
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const ApiRow& row) { return row.name == name; });
    ASSERT_NE(found, rows.end()) << name;
    EXPECT_EQ(found->call_class, CallClass::kLocal) << name;
  }
}

}  // namespace
}  // namespace wharf::cudashim
