// Verification sees a wrong adjoint: the reference's gradients are its own.
#include "Generator.h"
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

/// What became of an operation's mistakes.
struct Tries {
  unsigned planted = 0, refused = 0;
};

constexpr uint64_t seeds = 3000;
/// So many are to be refused, of so many at most: a program may give a gradient
/// of zero, of which three times is zero.
constexpr unsigned enough = 2, most = 5;

/// A program whose numbers are exact enough to tell.
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
      if (of.refused >= enough || of.planted >= most ||
          withoutAdjoint().count(op.mnemonic))
        continue;
      unsigned planted = 0;
      Outcome outcome =
          trial.runWithWrongAdjoint(program, seed, op.mnemonic, planted);
      if (planted == 0)
        continue;
      // It must be the mistake that is refused.
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
