// Verification notices a wrong adjoint, because the reference has its own
// gradients.
#include "Generator.h"
#include "Options.h"
#include "Trial.h"

#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <set>

using namespace tpsp::property;

namespace {

/// Operations whose adjoint cannot be made wrong, and why.
const std::map<std::string, std::string> &withoutAdjoint() {
  static const std::map<std::string, std::string> reasons = {
      {"add", "passes the result's gradient on as it is"},
      {"compare", "is a constant"},
      {"count_earlier", "gives integers"},
      {"count_values", "gives integers"},
      {"runs", "gives integers"},
      {"router", "gives integers"},
      {"slope", "has no gradient"},
      {"stop_gradient", "is a constant"},
      {"constant", "has no operand"},
      {"dropout_mask", "has no operand"},
      {"iota", "has no operand"},
      {"rope_matrix", "has no operand"}};
  return reasons;
}

/// Counts of an operation's planted and refused mistakes.
struct Tries {
  unsigned planted = 0, refused = 0;
};

constexpr uint64_t seeds = 3000;
/// enough() mistakes must be refused, of at most `most`. Some have no effect: a
/// gradient may be zero, and so is three times zero.
constexpr unsigned most = 5;
unsigned enough() { return options().isNightly ? 2 : 1; }

/// Makes a program's numbers exact enough to notice a mistake. Returns false if
/// the program is of no use.
bool isUsable(Program &program) {
  if (!program.grad || program.expectation != Expectation::Legal)
    return false;
  program.pipeline = {};
  program.element = "f32";
  return true;
}

} // namespace

TEST(WrongAdjoints, OfEveryOperationAreRefused) {
  std::map<std::string, Tries> tries;
  std::set<std::string> all;
  Trial trial;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    Program program = generate(seed);
    for (const Operation &op : program.operations)
      all.insert(op.mnemonic);
    if (!isUsable(program))
      continue;
    for (const Operation &op : program.operations) {
      Tries &of = tries[op.mnemonic];
      if (of.refused >= enough() || of.planted >= most ||
          withoutAdjoint().count(op.mnemonic))
        continue;
      unsigned planted = 0;
      Outcome outcome =
          trial.runWithWrongAdjoint(program, seed, op.mnemonic, planted);
      if (planted == 0)
        continue;
      // The program must agree without the mistake.
      if (trial.run(program, seed).verdict != Outcome::Agrees)
        continue;
      ++of.planted;
      bool isRefused = outcome.verdict == Outcome::Failed &&
                       outcome.text.find("is off by") != std::string::npos;
      of.refused += isRefused;
      if (!isRefused)
        std::cout << "  " << op.mnemonic << ": not refused in seed " << seed
                  << "\n";
    }
  }
  for (const std::string &mnemonic : all) {
    const Tries &of = tries[mnemonic];
    auto reason = withoutAdjoint().find(mnemonic);
    if (reason != withoutAdjoint().end()) {
      std::cout << "  " << mnemonic << ": " << reason->second << "\n";
      continue;
    }
    std::cout << "  " << mnemonic << ": refused " << of.refused << " of "
              << of.planted << "\n";
    EXPECT_GT(of.planted, 0u) << mnemonic;
    EXPECT_GT(of.refused, 0u) << mnemonic;
  }
}
