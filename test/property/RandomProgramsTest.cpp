// Every legal program computes the same as its unsharded form, forward and
// gradients. Every illegal one is refused with a diagnostic.
//
//   RandomPrograms --count=10000 --seed=1 --jobs=8
//   RandomPrograms --count=1 --seed=4711 --print
#include "Generator.h"
#include "Options.h"
#include "Shrink.h"
#include "Workers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>

using namespace tpsp::property;

namespace {

/// Returns the kind of a refusal, without the details about axes and ways out.
std::string reasonOf(const Outcome &outcome) {
  std::string reason = outcome.signature();
  for (const char *end : {";", " (", ": ", ", but", ", which", ", []"})
    reason = reason.substr(0, reason.find(end));
  return reason;
}

/// Counts of the programs' outcomes.
class Statistics {
public:
  void add(const Program &program, const Outcome &outcome) {
    ++all;
    Row &row = kinds[program.kind];
    ++row.all;
    if (outcome.verdict == Outcome::Agrees) {
      ++agreed;
      ++row.agreed;
      withGradients += program.grad;
      Digits &digits = elements[program.element];
      ++digits.agreed;
      digits.lost += outcome.text == Outcome::losesDigits;
      withIntegers +=
          std::any_of(program.values.begin(), program.values.end(),
                      [](const Tensor &tensor) { return tensor.isInteger(); });
      inParts += program.pipeline.microBatches > 1;
      inStages += program.pipeline.stages > 1;
      padded += !program.pipeline.pad.empty();
      withChoices += !program.pipeline.text().empty();
      overlapped += outcome.text == Outcome::overlapped;
      ++meshes[program.mesh.size()];
    } else if (outcome.verdict == Outcome::Refused) {
      ++refusals[reasonOf(outcome)];
    }
  }

  void print(double seconds) const {
    std::cout << all << " programs in " << int(seconds) << " s: " << agreed
              << " legal and equal to the unsharded program (" << withGradients
              << " with gradients)\n";
    std::cout << "  of these " << withIntegers << " with integers, "
              << withChoices << " with pipeline options, " << inParts
              << " of them in micro-batches, " << inStages << " on stages, "
              << padded << " padded, " << overlapped
              << " on several streams, as on one\n";
    std::cout << "  legal, by element type\n";
    for (const auto &[element, digits] : elements)
      std::cout << "    " << element << ": " << digits.agreed << ", of these "
                << digits.lost << " equal only in f64\n";
    std::cout << "  legal of all, by how they were made\n";
    for (const auto &[kind, row] : kinds)
      std::cout << "    " << kind << ": " << row.agreed << " of " << row.all
                << "\n";
    std::cout << "  legal, by the number of mesh axes\n";
    for (auto [axes, count] : meshes)
      std::cout << "    " << axes << ": " << count << "\n";
    std::cout << "  refused, by reason\n";
    for (const auto &[reason, count] : refusals)
      std::cout << "    " << count << "x " << reason << "\n";
  }

  /// Returns the element types in which too many programs lose digits. Normally
  /// less than one in fifty does.
  std::string imprecise() const {
    std::string names;
    for (const auto &[element, digits] : elements)
      if (digits.lost > std::max<uint64_t>(3, digits.agreed / 20))
        names += element + " ";
    return names;
  }

  uint64_t all = 0, agreed = 0, overlapped = 0;

private:
  struct Digits {
    uint64_t agreed = 0, lost = 0;
  };
  struct Row {
    uint64_t all = 0, agreed = 0;
  };
  uint64_t withGradients = 0;
  uint64_t withIntegers = 0, withChoices = 0, inParts = 0, inStages = 0,
           padded = 0;
  std::map<std::string, Digits> elements;
  std::map<std::string, Row> kinds;
  std::map<size_t, uint64_t> meshes;
  std::map<std::string, uint64_t> refusals;
};

/// Returns the program, made small, with its failure as a comment.
std::string explain(uint64_t seed, const Outcome &outcome) {
  Program program = generate(seed);
  // Shrinking would remove a mistake that was not refused.
  if (program.expectation != Expectation::Illegal && options().shrinkAttempts) {
    std::string signature = outcome.signature();
    program = shrink(
        program,
        [&](const Program &smaller) {
          Outcome found = tryApart(smaller, seed);
          return found.verdict == Outcome::Failed &&
                 found.signature() == signature;
        },
        options().shrinkAttempts);
  }
  return "// RandomPrograms --seed=" + std::to_string(seed) +
         " --count=1: " + outcome.text + "\n// " + program.kind +
         (program.grad ? ", --grad" : "") + program.pipeline.text() + "\n" +
         toText(program);
}

} // namespace

TEST(RandomPrograms, LegalOnesEqualTheUnshardedAndIllegalOnesAreRefused) {
  const Options &chosen = options();
  std::cout << "seeds " << chosen.seed << " to "
            << chosen.seed + chosen.count - 1 << "\n";
  auto begin = std::chrono::steady_clock::now();
  Statistics statistics;
  std::vector<std::pair<uint64_t, Outcome>> failures;
  tryAll(chosen.seed, chosen.count, chosen.jobs,
         [&](uint64_t seed, const Outcome &outcome) {
           Program program = generate(seed);
           if (chosen.print)
             std::cout << toText(program) << "// " << program.kind
                       << program.pipeline.text() << ": " << outcome.text
                       << "\n";
           statistics.add(program, outcome);
           if (outcome.verdict != Outcome::Failed)
             return;
           std::cout << "seed " << seed << ": " << outcome.text << std::endl;
           failures.push_back({seed, outcome});
         });
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  statistics.print(took.count());
  std::cout.flush(); // the following takes time
  // Explains one failure of each kind, since the others most likely have the
  // same cause.
  std::map<std::string, unsigned> explained;
  for (const auto &[seed, outcome] : failures) {
    bool isFirst = ++explained[outcome.signature()] == 1;
    ADD_FAILURE() << "seed " << seed << ": " << outcome.text << "\n"
                  << (isFirst ? explain(seed, outcome) : "");
  }
  EXPECT_EQ(statistics.imprecise(), "")
      << "too many programs agree in f64 only";
  if (chosen.count >= 100) {
    EXPECT_GE(statistics.agreed, statistics.all * 6 / 10)
        << "too few legal programs to prove anything";
    EXPECT_GE(statistics.overlapped, statistics.all / 50)
        << "too few overlapped programs to prove anything";
  }
}
