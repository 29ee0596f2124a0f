// main() of every room's tests. `link_tests --file=channel_test` runs the tests that link/channel_test.cc defines,
// which is what ctest calls "link.channel_test"; without, GoogleTest's own options choose.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

namespace {

// A filter of GoogleTest for the tests of one file; empty if it has none.
std::string FilterOf(std::string_view stem) {
  std::string filter;
  const ::testing::UnitTest& all = *::testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const ::testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int k = 0; k < suite.total_test_count(); ++k) {
      const ::testing::TestInfo& test = *suite.GetTestInfo(k);
      if (std::filesystem::path(test.file()).stem() != stem) continue;
      if (!filter.empty()) filter += ':';
      filter.append(suite.name()).append(".").append(test.name());
    }
  }
  return filter;
}

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);  // takes GoogleTest's options away
  if (argc == 1) return RUN_ALL_TESTS();
  constexpr std::string_view kFile = "--file=";
  const std::string_view option = argv[1];
  if (argc != 2 || !option.starts_with(kFile)) {
    std::fprintf(stderr, "usage: %s [--file=NAME_test | --gtest_...]\n", argv[0]);
    return 2;
  }
  const std::string filter = FilterOf(option.substr(kFile.size()));
  if (filter.empty()) {
    std::fprintf(stderr, "%s: no test is in a file of that name\n", argv[1]);
    return 2;
  }
  GTEST_FLAG_SET(filter, filter);
  return RUN_ALL_TESTS();
}
