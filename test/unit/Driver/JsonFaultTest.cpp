#include "tpsp/Abi/JsonFault.h"

#include <gtest/gtest.h>

using namespace tpsp;

namespace {

TEST(JsonFault, HasNothingToSayOfJson) {
  for (const char *text : {"{}", "[]", "1", "null", "{\"a\": [1, {\"b\": 2}]}"})
    EXPECT_EQ(jsonFault(text), "") << text;
}

TEST(JsonFault, NamesPlaceKeyAndWhatWasFound) {
  EXPECT_EQ(jsonFault("{\"a\": NaN}"),
            "line 1, column 7, a: found NaN, which is no JSON value here");
  EXPECT_EQ(
      jsonFault("{\"a\": 1,\n \"b\": [{\"c\": 2}, {\"d\": -Infinity}]}"),
      "line 2, column 24, b[1].d: found -Infinity, which is no JSON value "
      "here");
  EXPECT_EQ(jsonFault("{\"a\": 1e999}"),
            "line 1, column 7, a: found 1e999, which is more than a number "
            "holds");
  EXPECT_EQ(jsonFault("{\"a\": 1 \"b\": 2}"),
            "line 1, column 11, a: found \", which is no JSON value here");
  EXPECT_EQ(jsonFault("x"),
            "line 1, column 1: found x, which is no JSON value here");
  EXPECT_EQ(jsonFault("{\"a\": \xff}"),
            "line 1, column 7, a: found ?, which is no JSON value here");
}

TEST(JsonFault, NamesTheKeyInWhichATextEnds) {
  for (const char *text : {"{\"a\": {\"b\": ", "{\"a\": {\"b\": [1, 2"})
    EXPECT_NE(jsonFault(text).find("the text ends before its value does"),
              std::string::npos)
        << jsonFault(text);
  EXPECT_EQ(jsonFault(""), "line 1, column 1: the text ends before its value "
                           "does");
}

/// The message stays short even if the place is as deep as the text is long.
TEST(JsonFault, IsShortHoweverDeepATextIs) {
  EXPECT_LT(jsonFault(std::string(1000000, '[')).size(), 400u);
}

} // namespace
