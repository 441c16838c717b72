#include "tpsp/Algebra/Formula.h"

#include "gtest/gtest.h"

using namespace tpsp;

static Formula name(const char *text, int exponent = 1) {
  return Formula::power(text, exponent);
}

/// 4 b s d (tp - 1)/tp
static Formula gathered() {
  return Formula(4) * name("b") * name("s") * name("d") *
         Formula::lessOne({"tp"}) * name("tp", -1);
}

TEST(FormulaTest, IsWrittenInTheOrderOfNames) {
  EXPECT_EQ(gathered().text({"b", "s", "d"}), "4 b s d (tp - 1)/tp");
  EXPECT_EQ(gathered().text({}), "4 b d s (tp - 1)/tp");
  EXPECT_EQ(Formula().text({}), "0");
  EXPECT_EQ(Formula::lessOne({"L"}).text({}), "(L - 1)");
}

TEST(FormulaTest, AlikeTermsAreAddedUp) {
  Formula sum = gathered() + gathered();
  EXPECT_EQ(sum.text({"b", "s", "d"}), "8 b s d (tp - 1)/tp");
  EXPECT_TRUE((sum + sum * Formula(-1)).isZero());
}

TEST(FormulaTest, TermsThatAreDividedAlikeAreOneProduct) {
  Formula sum =
      (Formula(6) * name("d") * name("e") + Formula(4) * name("d", 2)) *
          name("tp", -1) +
      name("d");
  EXPECT_EQ(sum.text({"d", "e"}), "d + 2 d (2 d + 3 e)/tp");
}

TEST(FormulaTest, FactorsCancel) {
  EXPECT_EQ((name("tp") * name("tp", -1)).text({}), "1");
  EXPECT_EQ(name("s") * name("s"), name("s", 2));
}

TEST(FormulaTest, Differences) {
  Formula less = Formula(2) * name("L") + Formula(-3);
  EXPECT_EQ(less.text({}), "2 L - 3");
  EXPECT_EQ(less.evaluate({{"L", 7}}), 11);
}

TEST(FormulaTest, ValuesAreOfEveryFactor) {
  // The values are distinct primes, so that none can be mistaken for another.
  EXPECT_DOUBLE_EQ(
      gathered().evaluate({{"b", 2}, {"s", 3}, {"d", 5}, {"tp", 7}}),
      4.0 * 2 * 3 * 5 * 6 / 7);
  Formula all = Formula::lessOne({"tp", "dp"}) * name("d");
  EXPECT_DOUBLE_EQ(all.evaluate({{"dp", 3}, {"tp", 5}, {"d", 11}}), 154);
}
