// JSON objects that are read strictly, and written, from one list of fields.
#include "tpsp/Abi/JsonWriter.h"

#include <gmock/gmock.h>

#include <random>

using namespace tpsp;
using testing::HasSubstr;

namespace {

enum class Colour { Red, Green };

struct Inner {
  double rate = 0;
  std::vector<int64_t> sizes;
};

struct Outer {
  std::string name;
  bool isLarge = false;
  int64_t count = 0;
  uint64_t seed = 0;
  Colour colour = Colour::Red;
  std::optional<double> norm;
  std::vector<Inner> inner;
  std::map<std::string, std::string> settings;
};

} // namespace

namespace tpsp {
template <> struct EnumNames<Colour> {
  static constexpr const char *all[] = {"red", "green"};
};
template <>
inline constexpr std::array choices<Colour> = {Colour::Red, Colour::Green};
} // namespace tpsp

namespace {

template <typename Object> void fields(Object &field, Inner &inner) {
  field("rate_gbs", inner.rate, Rule{1e9, 1e-9});
  field("sizes", inner.sizes, Rule{1, 1, 7, /*isRequired=*/false});
}

template <typename Object> void fields(Object &field, Outer &outer) {
  field("name", outer.name);
  field("is_large", outer.isLarge, optional);
  field("count", outer.count, Rule{1, -1e30});
  field("seed", outer.seed);
  field("colour", outer.colour);
  field("norm", outer.norm, optional);
  field("inner", outer.inner, optional);
  field("settings", outer.settings, optional);
}

/// The problem of a text; "" if it is read into `out`.
std::string problemOf(const std::string &text, Outer &out) {
  OrderedJson json;
  if (rt::Status parsed = parseJson(text, json); !parsed.ok())
    return parsed.message();
  std::string problem;
  readFields(json, {"", problem}, out);
  return problem;
}

std::string problemOf(const std::string &more, const char *without = "") {
  std::string text = "{";
  for (const auto &[key, value] : {std::pair("name", "\"a\""),
                                   {"count", "1"},
                                   {"seed", "2"},
                                   {"colour", "\"red\""}})
    if (std::string(key) != without)
      text += "\"" + std::string(key) + "\": " + value + ", ";
  Outer out;
  return problemOf(text + (more.empty() ? "\"is_large\": true" : more) + "}",
                   out);
}

TEST(JsonReader, ReadsWhatIsWritten) {
  std::mt19937_64 random(testing::UnitTest::GetInstance()->random_seed() + 1);
  for (int i = 0; i < 200; ++i) {
    Outer wanted, found;
    wanted.name = std::string(1 + random() % 5, char('a' + random() % 26));
    wanted.isLarge = random() % 2;
    // All 64 bits: a double would round them.
    wanted.count = int64_t(random());
    wanted.seed = random();
    wanted.colour = Colour(random() % 2);
    if (random() % 2)
      wanted.norm = double(random() % 1000) / 3;
    for (size_t n = random() % 3; n > 0; --n)
      wanted.inner.push_back(
          {1e9 * double(1 + random() % 99), {int64_t(1 + random() % 7), 7}});
    if (random() % 2)
      wanted.settings = {{"a.b", "1"}, {"c", ""}};
    std::string text = writtenFields(wanted).dump();
    ASSERT_EQ(problemOf(text, found), "") << text;
    EXPECT_EQ(found.name, wanted.name);
    EXPECT_EQ(found.isLarge, wanted.isLarge);
    EXPECT_EQ(found.count, wanted.count);
    EXPECT_EQ(found.seed, wanted.seed);
    EXPECT_EQ(found.colour, wanted.colour);
    EXPECT_EQ(found.norm, wanted.norm);
    EXPECT_EQ(found.settings, wanted.settings);
    ASSERT_EQ(found.inner.size(), wanted.inner.size());
    for (size_t n = 0; n < found.inner.size(); ++n) {
      EXPECT_DOUBLE_EQ(found.inner[n].rate, wanted.inner[n].rate);
      EXPECT_EQ(found.inner[n].sizes, wanted.inner[n].sizes);
    }
  }
}

TEST(JsonReader, WritesAsManyDigitsAsAreAskedFor) {
  Inner inner{1.23456e9, {}};
  EXPECT_EQ(writtenFields(inner, 4).dump(), "{\"rate_gbs\":1.235}");
  EXPECT_EQ(writtenFields(inner).dump(), "{\"rate_gbs\":1.23456}");
}

TEST(JsonReader, AnUnknownKeyIsNamedWithTheNearest) {
  EXPECT_EQ(problemOf(""), "");
  EXPECT_EQ(problemOf("\"nrom\": 1"),
            "there is no key 'nrom' (did you mean 'norm'?); there are colour, "
            "count, inner, is_large, name, norm, seed, settings");
  EXPECT_THAT(problemOf("\"inner\": [{\"rate_gbs\": 1}, {\"rate_gbs\": 1, "
                        "\"zzz\": 1}]"),
              HasSubstr("inner[1]: there is no key 'zzz'; there are"));
  EXPECT_EQ(problemOf("\"cuont\": 1", "count"),
            "count: is missing; 'cuont' (did you mean 'count'?) is not known");
  EXPECT_EQ(problemOf("", "count"), "count: is missing");
  EXPECT_EQ(problemOf("\"count\": null", "count"), "count: is missing");
}

TEST(JsonReader, AValueOfAnotherKindIsShown) {
  EXPECT_EQ(problemOf("\"name\": 7", "name"), "name: expected a string, not 7");
  EXPECT_EQ(problemOf("\"is_large\": 1"),
            "is_large: expected true or false, not 1");
  EXPECT_EQ(problemOf("\"count\": 1.5", "count"),
            "count: expected a whole number, not 1.5");
  EXPECT_EQ(problemOf("\"count\": 9223372036854775808", "count"),
            "count: expected a whole number, not 9223372036854775808");
  EXPECT_EQ(problemOf("\"seed\": -1", "seed"),
            "seed: expected a whole number from 0 on, not -1");
  EXPECT_EQ(problemOf("\"colour\": \"blue\"", "colour"),
            "colour: expected one of red, green, not 'blue'");
  EXPECT_EQ(problemOf("\"inner\": {}"), "inner: expected a list, not {}");
  EXPECT_EQ(problemOf("\"inner\": [3]"), "inner[0]: expected an object, not 3");
  EXPECT_EQ(problemOf("\"inner\": [{\"rate_gbs\": 0}]"),
            "inner[0].rate_gbs: expected a number above 0, not 0");
  EXPECT_EQ(problemOf("\"inner\": [{\"rate_gbs\": 1, \"sizes\": [1, 8]}]"),
            "inner[0].sizes[1]: expected a whole number from 1 to 7, not 8");
  EXPECT_EQ(problemOf("\"settings\": {\"a.b\": 1}"),
            "settings.'a.b': expected a string, not 1");
}

TEST(JsonReader, TheTextIsRefusedBeforeItsValues) {
  EXPECT_EQ(problemOf("\"name\": \"b\""),
            "not JSON: name: this key is there twice");
  EXPECT_EQ(problemOf("\"settings\": {\"a\": {\"b\": 1, \"b\": 2}}"),
            "not JSON: settings.a.b: this key is there twice");
  OrderedJson json;
  EXPECT_TRUE(parseJson("[[[[1]]]]", json, 4).ok());
  EXPECT_EQ(parseJson("{\"a\": [[[1]]]}", json, 3).message(),
            "not JSON: a[0][0]: values are nested more than 3 deep");
  EXPECT_FALSE(parseJson(std::string(1 << 20, '['), json).ok());
}

/// A message neither grows with a file nor has its control characters.
TEST(JsonReader, MessagesAreShortAndPrintable) {
  std::string key(100000, 'k');
  std::string message = problemOf("\"" + key + "\": \"" + key + "\"");
  EXPECT_LT(message.size(), 300u);
  message = problemOf("\"\\u001b[31m\": 1");
  EXPECT_EQ(message.find('\x1b'), std::string::npos) << message;
}

} // namespace
