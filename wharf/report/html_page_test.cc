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
  HtmlPage page("Offloading & more");
  page.AddHeading("Latency");
  page.AddParagraph("1 < 2");
  page.AddTable(table);
  page.AddPicture(BarChart{"t", "ms", false, {{"g", {{"a", 1}}}}}.Svg());
  const std::string text = page.Text();
  EXPECT_THAT(text, AllOf(HasSubstr("<title>Offloading &amp; more</title>"), HasSubstr("<p>1 &lt; 2</p>"),
                          HasSubstr("<td>a&lt;b</td><td class=\"right\">1</td>"), HasSubstr("<figure>\n<svg"),
                          Not(HasSubstr("src=")), Not(HasSubstr("href="))));
  EXPECT_LT(text.find("<h2>Latency</h2>"), text.find("<p>1"));
  EXPECT_LT(text.find("<table>"), text.find("<figure>"));
}

}  // namespace
}  // namespace wharf::report
