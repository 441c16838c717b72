#include "tpsp/Planner/Compare.h"

#include "tpsp/Abi/Quantity.h"
#include "tpsp/Abi/TextTable.h"

#include "llvm/ADT/STLExtras.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

using namespace tpsp;
using namespace tpsp::planner;
using rt::bytesText;
using rt::secondsText;

static bool isCalled(const Candidate &candidate, const std::string &name,
                     const ProgramFacts &facts) {
  return usualName(candidate, facts) == name ||
         subscriptText(candidate, facts) == name;
}

std::vector<Candidate> tpsp::planner::candidatesNamed(const std::string &name,
                                                      const Space &space,
                                                      const Bounds &bounds) {
  std::vector<std::pair<double, Candidate>> found;
  std::vector<Candidate> all = space.leaves();
  llvm::append_range(all, space.pure());
  for (Candidate &each : all)
    if (isCalled(each, name, space.program()))
      found.emplace_back(bounds.of({each, 1}).promise(), std::move(each));
  llvm::stable_sort(found, llvm::less_first());
  auto second = llvm::make_second_range(found);
  return {second.begin(), second.end()};
}

const Evaluation *tpsp::planner::findPlan(const SearchResult &result,
                                          const ProgramFacts &facts,
                                          int64_t memoryLimit,
                                          const std::string &name) {
  int64_t rank = 0;
  const Evaluation *refused = nullptr;
  for (const Evaluation &each : result.evaluations) {
    if (each.isBound)
      continue;
    bool isIt = isCalled(each.candidate, name, facts);
    if (each.isPlan(memoryLimit))
      isIt |= std::to_string(++rank) == name;
    if (isIt && each.isLegal())
      return &each;
    if (isIt && !refused)
      refused = &each;
  }
  return refused;
}

//===----------------------------------------------------------------------===//
// Two plans
//===----------------------------------------------------------------------===//

namespace {

struct Part {
  std::string name;
  double a = 0, b = 0;

  double more() const { return b - a; }
};

} // namespace

static std::vector<Part> timeParts(const Evaluation &a, const Evaluation &b) {
  std::map<std::string, Part> parts;
  for (const auto &[name, seconds] : a.parts)
    parts[name].a = seconds;
  for (const auto &[name, seconds] : b.parts)
    parts[name].b = seconds;
  std::vector<Part> result;
  for (auto &[name, part] : parts)
    result.push_back({name, part.a, part.b});
  llvm::stable_sort(result, [](const Part &x, const Part &y) {
    return std::abs(x.more()) > std::abs(y.more());
  });
  return result;
}

static std::vector<Part> memoryParts(const MemoryBill &a, const MemoryBill &b) {
  return {{"parameters", double(a.parameters), double(b.parameters)},
          {"gradients", double(a.gradients), double(b.gradients)},
          {"state", double(a.state), double(b.state)},
          {"inputs", double(a.inputs), double(b.inputs)},
          {"outputs", double(a.outputs), double(b.outputs)},
          {"activations", double(a.activations), double(b.activations)},
          {"total", double(a.total), double(b.total)}};
}

/// "+1.2 ms", "-3.0 GiB"; "same" if the difference is only rounding.
static std::string signedText(const Part &part, std::string (*text)(double)) {
  constexpr double rounding = 1e-9;
  double more = part.more();
  if (std::abs(more) <= rounding * std::max(std::abs(part.a), std::abs(part.b)))
    return "same";
  return (more > 0 ? "+" : "-") + text(std::abs(more));
}

static void addRows(TextTable &table, const std::vector<Part> &parts,
                    std::string (*text)(double)) {
  for (const Part &part : parts)
    if (part.a != 0 || part.b != 0)
      table.add(
          {part.name, text(part.a), text(part.b), signedText(part, text)});
}

std::string
tpsp::planner::compareText(const Evaluation &a, const Evaluation &b,
                           const std::array<std::string, 2> &names) {
  auto seconds = [](double value) { return secondsText(value); };
  auto bytes = [](double value) { return bytesText(value); };
  TextTable table("lrrr");
  table.add({"", "A", "B", "B - A"});
  addRows(table,
          {{"step", a.seconds, b.seconds},
           {"exposed communication", a.exposed, b.exposed},
           {"all communication", a.communication, b.communication}},
          seconds);
  table.addLine("Where the time goes, the largest difference first");
  addRows(table, timeParts(a, b), seconds);
  table.addLine("Memory of a rank");
  addRows(table, memoryParts(a.memory, b.memory), bytes);
  return fmt::format("\nA: {}\nB: {}\n", names[0], names[1]) + table.text();
}

//===----------------------------------------------------------------------===//
// Changes that flip the choice
//===----------------------------------------------------------------------===//

/// The factor x on communication's time at which a's step equals b's:
/// computing_a + x exposed_a = computing_b + x exposed_b. 0 if b is never
/// faster.
static double networkThatFlips(const Evaluation &a, const Evaluation &b) {
  double computing = (b.seconds - b.exposed) - (a.seconds - a.exposed);
  double exposed = a.exposed - b.exposed;
  if (exposed == 0 || computing / exposed <= 0)
    return 0;
  return computing / exposed;
}

/// Whether a factor on communication's time is of interest: a network ten times
/// as fast or as slow is another machine.
static bool isNear(double network) {
  constexpr double most = 10;
  return network >= 1 / most && network <= most;
}

static bool mayFlip(const MatrixRow &row) {
  return row.evaluation->isLegal() && !row.evaluation->isBound;
}

std::vector<Flip> tpsp::planner::flipsOf(const Matrix &matrix) {
  std::vector<Flip> flips;
  if (matrix.rows.empty() || matrix.rows.front().rank != 1)
    return flips;
  const Evaluation &first = *matrix.rows.front().evaluation;
  for (const MatrixRow &row : llvm::drop_begin(matrix.rows)) {
    if (!mayFlip(row))
      continue;
    const Evaluation &each = *row.evaluation;
    Flip flip = {
        &row, 0,
        std::max<int64_t>(each.memory.total - matrix.options.memoryLimit, 0)};
    if (flip.bytes == 0)
      flip.network = networkThatFlips(first, each);
    if (isNear(flip.network) ||
        (flip.bytes > 0 && each.seconds < first.seconds))
      flips.push_back(flip);
  }
  auto distance = [&](const Flip &flip) {
    return flip.bytes > 0
               ? double(flip.bytes) / double(matrix.options.memoryLimit)
               : std::abs(std::log(flip.network));
  };
  llvm::stable_sort(flips, [&](const Flip &a, const Flip &b) {
    return distance(a) < distance(b);
  });
  return flips;
}

static std::string flipText(const Flip &flip) {
  std::string who = flip.row->rank > 0
                        ? "plan " + std::to_string(flip.row->rank)
                        : flip.row->label;
  if (flip.row->rank > 0)
    who += " (" + flip.row->label + ")";
  if (flip.bytes > 0)
    return who + " would be first with " + bytesText(double(flip.bytes)) +
           " more memory\n";
  bool isFaster = flip.network < 1;
  double factor = isFaster ? 1 / flip.network : flip.network;
  // A factor of 1.03 is not "1 times".
  std::string much = factor < 1.1
                         ? fmt::format("{:.2g} % {}", 100 * (factor - 1),
                                       isFaster ? "faster" : "longer")
                         : fmt::format("{:.2g} times as {}", factor,
                                       isFaster ? "fast" : "long");
  return who +
         (isFaster ? " would be first if the network were "
                   : " would be first if communication took ") +
         much + "\n";
}

/// "3.0 % faster than", or "as fast as" if the share rounds to 0.0 %.
static std::string fasterText(double share) {
  constexpr double shown = 0.0005;
  return share < shown ? "as fast as"
                       : fmt::format("{:.1f} % faster than", 100 * share);
}

std::string tpsp::planner::sensitivityText(const Matrix &matrix, size_t most) {
  if (matrix.rows.empty() || matrix.rows.front().rank != 1)
    return "";
  std::string text = fmt::format("\nMargins of plan 1: {} to spare",
                                 bytesText(double(matrix.margin)));
  const Evaluation &first = *matrix.rows.front().evaluation;
  for (const MatrixRow &row : matrix.rows)
    if (row.rank == 2)
      text += ", " + fasterText(row.evaluation->seconds / first.seconds - 1) +
              " plan 2";
  text += "\n";
  std::vector<Flip> flips = flipsOf(matrix);
  for (const Flip &flip : llvm::ArrayRef(flips).take_front(most))
    text += "  " + flipText(flip);
  if (flips.empty())
    text +=
        "  no plan of the table would be first on a network up to ten times "
        "as fast or as slow\n";
  return text;
}
