#include "wharf/report/table.h"

#include <gtest/gtest.h>

namespace wharf::report {
namespace {

TEST(Table, AlignsAndTrims) {
  Table table({{"mode"}, {"ms", Align::kRight}, {"note"}});
  table.AddRow({"posted", "41.2", "fast"});
  table.AddRow({"local", "7"});
  EXPECT_EQ(table.Text(),
            "mode      ms  note\n"
            "──────  ────  ────\n"
            "posted  41.2  fast\n"
            "local      7\n");
}

TEST(Table, RulesAndCharactersOfSeveralBytes) {
  Table table({{"größe"}, {"n", Align::kRight}});
  table.AddRow({"αβγδεζ", "1"});
  table.AddRule();
  table.AddRow({"x", "2"});
  EXPECT_EQ(table.Text(),
            "größe   n\n"
            "──────  ─\n"
            "αβγδεζ  1\n"
            "──────  ─\n"
            "x       2\n");
}

TEST(Table, Markdown) {
  Table table({{"a|b"}, {"n", Align::kRight}});
  table.AddRow({"x", "1"});
  table.AddRule();
  EXPECT_EQ(table.Markdown(), "| a\\|b | n |\n| --- | ---: |\n| x | 1 |\n");
}

TEST(Table, Html) {
  Table table({{"a"}, {"n", Align::kRight}});
  table.AddRow({"<x>", "1"});
  table.AddRule();
  EXPECT_EQ(table.Html(),
            "<table>\n<tr><th>a</th><th class=\"right\">n</th></tr>\n"
            "<tr><td data-title=\"a\">&lt;x&gt;</td><td class=\"right\" data-title=\"n\">1</td></tr>\n</table>\n");
}

TEST(Table, WithoutRows) { EXPECT_EQ(Table({{"a"}}).Text(), "a\n─\n"); }

}  // namespace
}  // namespace wharf::report
