#include "tpsp/Abi/TextTable.h"

#include <gtest/gtest.h>

using namespace tpsp;

TEST(TextTableTest, AlignsColumns) {
  TextTable table("lrl");
  table.add({"tensor", "error", ""});
  table.add({"x", "1.5", "FAILED"});
  table.add({"gradient", "20.25", ""});
  EXPECT_EQ(table.text(), "  tensor    error\n"
                          "  x           1.5  FAILED\n"
                          "  gradient  20.25\n");
}

TEST(TextTableTest, CountsCharactersAndNotBytes) {
  TextTable table("lr", /*indent=*/0);
  table.add({"µs", "1 µs"});
  table.add({"abc", "10 s"});
  EXPECT_EQ(table.text(), "µs   1 µs\n"
                          "abc  10 s\n");
}

TEST(TextTableTest, SentencesWidenNoColumn) {
  TextTable table("lrr");
  table.add({"7", "none: no plan fits this memory"});
  table.addLine("Memory");
  table.add({"8", "1", "2"});
  EXPECT_EQ(table.text(), "  7  none: no plan fits this memory\n"
                          "Memory\n"
                          "  8  1  2\n");
}

TEST(TextTableTest, ATableWithoutRowsIsEmpty) {
  EXPECT_EQ(TextTable("l").text(), "");
}
