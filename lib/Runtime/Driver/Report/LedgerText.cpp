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
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}", nameOf(c.phase), nameOf(c.kind),
                     fmt::join(c.axes, ","), c.index, c.bytes, c.location,
                     c.reason, nameInCall(c.tensor));
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

static void printLine(const Line &line, bool hasTimes,
                      fmt::memory_buffer &out) {
  const LedgerRow &c = *line.first;
  std::string times = hasTimes ? fmt::format(" x{:<4}", line.times) : "";
  fmt::format_to(std::back_inserter(out),
                 "  {:<9} {:<15} {:<8} {:<7} {:>10}{}  {:<22} {}\n",
                 nameOf(c.phase), nameOf(c.kind),
                 fmt::format("{}", fmt::join(c.axes, ",")), c.index,
                 bytesText(c.bytes), times, shortened(c.tensor, 22), c.reason);
}

static void printTotals(const Plan &plan, fmt::memory_buffer &out) {
  auto to = std::back_inserter(out);
  std::map<std::pair<Phase, std::string>, std::pair<int64_t, int64_t>> sums;
  for (const LedgerRow &c : plan.ledger) {
    auto &sum = sums[{c.phase, nameOf(c.kind)}];
    sum.first += c.times;
    sum.second = saturatedSum(sum.second, saturatedProduct(c.bytes, c.times));
  }
  fmt::format_to(to, "\nTotals\n");
  for (const auto &[key, sum] : sums)
    fmt::format_to(to, "  {:<9} {:<15} x{:<3} {:>12}\n", nameOf(key.first),
                   key.second, sum.first, bytesText(sum.second));
}

std::string tpsp::rt::ledgerText(const Plan &plan, bool everyLayer) {
  if (plan.ledger.empty())
    return "No collectives.\n";
  std::vector<Line> lines = linesOf(plan, everyLayer);
  bool hasTimes = std::any_of(lines.begin(), lines.end(),
                              [](const Line &line) { return line.times > 1; });
  fmt::memory_buffer out;
  auto to = std::back_inserter(out);
  fmt::format_to(to, "Collectives (bytes sent per rank{})\n",
                 hasTimes ? ", each time" : "");
  fmt::format_to(to, "  {:<9} {:<15} {:<8} {:<7} {:>10}{}  {:<22} {}\n",
                 "phase", "kind", "axes", "index", "bytes",
                 hasTimes ? " times" : "", "tensor", "why");
  for (const Line &line : lines)
    printLine(line, hasTimes, out);
  printTotals(plan, out);
  return fmt::to_string(out);
}
