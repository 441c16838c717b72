// The adjoint of every operation that random programs know, by the rule that
// they know it by (test/property/Operations.cpp), against finite differences.
#include "GradientCheck.h"
#include "ProgramBuilder.h"

using namespace tpsp;
using namespace tpsp::property;

namespace {

/// A program of what the rule makes of two arguments; empty if nothing fits.
std::string programOf(const OperationRule &rule, uint64_t seed) {
  Random random(seed);
  Program program;
  ProgramBuilder builder(random, program);
  for (int i = 0; i < 2; ++i)
    builder.argument(builder.someIndices(2), /*isParameter=*/false);
  if (!rule.apply(builder))
    return "";
  program.results = {program.operations.back().result};
  return toText(program);
}

} // namespace

TEST(RuleGradientTest, EqualsFiniteDifferences) {
  for (const OperationRule &rule : numberRules()) {
    SCOPED_TRACE(rule.mnemonic);
    std::string text;
    for (uint64_t seed = 1; text.empty() && seed < 50; ++seed)
      text = programOf(rule, seed);
    // A maximum has no gradient, and no rule where there is one.
    bool isMaximum = text.empty() && rule.mnemonic == std::string("reduce");
    if (isMaximum)
      continue;
    EXPECT_FALSE(text.empty());
    if (!text.empty())
      checkGradients(text);
  }
}
