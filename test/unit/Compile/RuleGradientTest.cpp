// The adjoint of every operation of random programs against finite differences.
// The operations are made by the rules in test/property/Operations.cpp.
#include "GradientCheck.h"
#include "ProgramBuilder.h"

using namespace tpsp;
using namespace tpsp::property;

namespace {

/// Returns a program of the rule's operation on two arguments; empty if nothing
/// fits.
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
    // A maximum has no gradient, so its rule makes none in programs with
    // gradients.
    bool isMaximum = text.empty() && rule.mnemonic == std::string("reduce");
    if (isMaximum)
      continue;
    EXPECT_FALSE(text.empty());
    if (!text.empty())
      checkGradients(text);
  }
}
