#include "LedgerText.h"

#include "tpsp/Abi/CheckedMath.h"
#include "tpsp/Abi/Quantity.h"
#include "tpsp/Abi/TextTable.h"

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

static std::vector<std::string> cellsOf(const Line &line,
                                        const Columns &columns) {
  const LedgerRow &c = *line.first;
  std::vector<std::string> cells = {nameOf(c.phase), nameOf(c.kind),
                                    fmt::format("{}", fmt::join(c.axes, ",")),
                                    c.index, bytesText(c.bytes)};
  if (columns.hasTimes)
    cells.push_back(fmt::format("x{}", line.times));
  if (columns.hasStages)
    cells.push_back(fmt::format("{}", fmt::join(c.stages, ",")));
  cells.push_back(shortened(c.tensor, 22));
  cells.push_back(c.reason);
  return cells;
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

static std::string totalsText(const Plan &plan) {
  TextTable table("lllr");
  for (const auto &[key, sum] : ledgerTotals(plan))
    table.add({nameOf(key.first), key.second, fmt::format("x{}", sum.count),
               bytesText(sum.bytes)});
  return fmt::format("\nTotals{}\n", plan.numStages() > 1
                                         ? " (of the stage that sends most)"
                                         : "") +
         table.text();
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
  std::vector<std::string> heads = {"phase", "kind", "axes", "index", "bytes"};
  if (columns.hasTimes)
    heads.push_back("times");
  if (columns.hasStages)
    heads.push_back("stage");
  heads.insert(heads.end(), {"tensor", "why"});
  std::string alignment(heads.size(), 'l');
  alignment[4] = 'r'; // bytes
  TextTable table(alignment);
  table.add(heads);
  for (const Line &line : lines)
    table.add(cellsOf(line, columns));
  return fmt::format("Collectives (bytes sent per rank{})\n",
                     columns.hasTimes ? ", each time" : "") +
         table.text() + totalsText(plan);
}
