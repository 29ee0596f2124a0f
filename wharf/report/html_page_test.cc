#include "wharf/report/html_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wharf/report/bar_chart.h"

namespace wharf::report {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(HtmlPage, HoldsWhatWasAddedInOrderAndNeedsNothingElse) {
  Table table({{"mode"}, {"ms", Align::kRight}});
  table.AddRow({"a<b", "1"});
  HtmlPage page("Offloading & more", {"wharf bench <x>", "2026-01-01", "a machine", "0.5", "7 runs"});
  page.AddHeading("Latency");
  page.AddParagraph("1 < 2");
  page.AddTable(table);
  page.AddPicture(BarChart{"t", "ms", false, {{"g", {{"a", 1}}}}}.Svg());
  const std::string text = page.Text();
  EXPECT_THAT(text, AllOf(HasSubstr("<title>Offloading &amp; more</title>"), HasSubstr("<p>1 &lt; 2</p>"),
                          HasSubstr("<td data-title=\"mode\">a&lt;b</td><td class=\"right\" data-title=\"ms\">1</td>"),
                          HasSubstr("<figure>\n<svg"), Not(HasSubstr("src=")), Not(HasSubstr("href="))));
  EXPECT_THAT(text, AllOf(HasSubstr("<dt>command</dt><dd>wharf bench &lt;x&gt;</dd>"), HasSubstr("<dd>2026-01-01</dd>"),
                          HasSubstr("<dd>a machine</dd>"), HasSubstr("<dd>0.5</dd>"), HasSubstr("<dd>7 runs</dd>")));
  EXPECT_LT(text.find("<h2>Latency</h2>"), text.find("<p>1"));
  EXPECT_LT(text.find("<table>"), text.find("<figure>"));
}

TEST(RunRecord, SaysHowThisProcessCameAbout) {
  const RunRecord record = RunRecord::OfThisProcess("3 runs");
  EXPECT_THAT(record.command, HasSubstr("html_page_test"));
  EXPECT_THAT(record.date, ::testing::MatchesRegex("20[0-9][0-9]-[0-9][0-9]-[0-9][0-9] [0-9][0-9]:[0-9][0-9] UTC"));
  EXPECT_THAT(record.machine, HasSubstr(" cores"));
  EXPECT_THAT(record.load, HasSubstr("15 minutes"));
  EXPECT_EQ(record.sample, "3 runs");
}

}  // namespace
}  // namespace wharf::report
