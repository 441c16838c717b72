#include "LedgerText.h"

#include "tpsp/Abi/CheckedMath.h"
#include "tpsp/Abi/Quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

using namespace tpsp;
using namespace tpsp::rt;

namespace {

/// A line of the ledger.
struct Line {
  const LedgerRow *first;
  int64_t times;
};

} // namespace

/// The part of a tensor's name that does not name the call: "wq" of
/// "layer0.wq".
static std::string nameInCall(const std::string &tensor) {
  size_t dot = tensor.rfind('.');
  return dot == std::string::npos ? tensor : tensor.substr(dot + 1);
}

/// Equal for collectives at one place in the source, over the same axes and for
/// the same reason, whose tensors differ only in their call.
static std::string layerKey(const LedgerRow &c) {
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}", nameOf(c.phase),
                     nameOf(c.kind), fmt::join(c.axes, ","), c.index, c.bytes,
                     c.location, c.reason, nameInCall(c.tensor),
                     fmt::join(c.stages, ","));
}

static std::vector<Line> linesOf(const Plan &plan, bool everyLayer) {
  std::vector<Line> lines;
  std::map<std::string, size_t> numbers;
  for (const LedgerRow &c : plan.ledger) {
    bool mayFold = !everyLayer && !c.location.empty();
    auto [it, isNew] =
        numbers.try_emplace(mayFold ? layerKey(c) : "", lines.size());
    if (mayFold && !isNew)
      lines[it->second].times += c.times;
    else
      lines.push_back({&c, c.times});
  }
  return lines;
}

/// The text, cut to `width` with an ellipsis.
static std::string shortened(const std::string &text, size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 2) + "..";
}

/// The columns that only some ledgers have.
struct Columns {
  bool hasTimes = false, hasStages = false;
};

static void printLine(const Line &line, const Columns &columns,
                      fmt::memory_buffer &out) {
  const LedgerRow &c = *line.first;
  std::string times =
      columns.hasTimes ? fmt::format(" x{:<4}", line.times) : "";
  std::string stages =
      columns.hasStages
          ? fmt::format(" {:<6}", fmt::format("{}", fmt::join(c.stages, ",")))
          : "";
  fmt::format_to(
      std::back_inserter(out),
      "  {:<9} {:<15} {:<8} {:<7} {:>10}{}{}  {:<22} {}\n", nameOf(c.phase),
      nameOf(c.kind), fmt::format("{}", fmt::join(c.axes, ",")), c.index,
      bytesText(c.bytes), times, stages, shortened(c.tensor, 22), c.reason);
}

LedgerTotals tpsp::rt::ledgerTotals(const Plan &plan) {
  LedgerTotals most;
  for (int64_t stage = 0; stage < plan.numStages(); ++stage) {
    LedgerTotals own;
    for (const LedgerRow &c : plan.ledger) {
      bool isOfOthers =
          !c.stages.empty() &&
          std::find(c.stages.begin(), c.stages.end(), stage) == c.stages.end();
      if (isOfOthers)
        continue;
      LedgerTotal &sum = own[{c.phase, nameOf(c.kind)}];
      sum.count += c.times;
      sum.bytes = saturatedSum(sum.bytes, saturatedProduct(c.bytes, c.times));
    }
    for (const auto &[key, sum] : own)
      if (LedgerTotal &known = most[key]; sum.bytes >= known.bytes)
        known = sum;
  }
  return most;
}

static void printTotals(const Plan &plan, fmt::memory_buffer &out) {
  auto to = std::back_inserter(out);
  fmt::format_to(to, "\nTotals{}\n",
                 plan.numStages() > 1 ? " (of the stage that sends most)" : "");
  for (const auto &[key, sum] : ledgerTotals(plan))
    fmt::format_to(to, "  {:<9} {:<15} x{:<3} {:>12}\n", nameOf(key.first),
                   key.second, sum.count, bytesText(sum.bytes));
}

std::string tpsp::rt::ledgerText(const Plan &plan, bool everyLayer) {
  if (plan.ledger.empty())
    return "No collectives.\n";
  std::vector<Line> lines = linesOf(plan, everyLayer);
  Columns columns;
  for (const Line &line : lines) {
    columns.hasTimes |= line.times > 1;
    columns.hasStages |= !line.first->stages.empty();
  }
  fmt::memory_buffer out;
  auto to = std::back_inserter(out);
  fmt::format_to(to, "Collectives (bytes sent per rank{})\n",
                 columns.hasTimes ? ", each time" : "");
  fmt::format_to(to, "  {:<9} {:<15} {:<8} {:<7} {:>10}{}{}  {:<22} {}\n",
                 "phase", "kind", "axes", "index", "bytes",
                 columns.hasTimes ? " times" : "",
                 columns.hasStages ? " stage " : "", "tensor", "why");
  for (const Line &line : lines)
    printLine(line, columns, out);
  printTotals(plan, out);
  return fmt::to_string(out);
}
