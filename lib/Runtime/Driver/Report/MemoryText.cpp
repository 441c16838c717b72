#include "MemoryText.h"

#include "tpsp/Abi/CheckedMath.h"
#include "tpsp/Abi/PlanMemory.h"
#include "tpsp/Abi/Quantity.h"
#include "tpsp/Abi/TextTable.h"

#include <fmt/format.h>

#include <algorithm>

using namespace tpsp;
using namespace tpsp::rt;

int64_t tpsp::rt::bytesOfAllRanks(const Plan &plan) {
  if (plan.stageArenas.empty())
    return saturatedProduct(plan.arenaBytes, plan.numRanks());
  int64_t sum = 0;
  for (int64_t bytes : plan.stageArenas)
    sum = saturatedSum(
        sum, saturatedProduct(bytes, plan.numRanks() / plan.numStages()));
  return sum;
}

namespace {

/// The parts of memory, by stage.
class MemoryTable {
public:
  explicit MemoryTable(const Plan &plan)
      : views(stageViews(plan)),
        table("l" + std::string(views.size(), 'r') + "l") {
    for (const Plan &view : views)
      parts.push_back(memoryOf(view));
  }

  std::string text() {
    addHeads();
    row("parameters", &PlanMemory::parameters);
    row("master", &PlanMemory::master, /*isOptional=*/true);
    row("optimizer", &PlanMemory::optimizer, /*isOptional=*/true);
    row("gradients", &PlanMemory::gradients);
    row("  of inputs", &PlanMemory::inputGradients, /*isOptional=*/true,
        "not made with --input-gradients off, or where tpsp.frozen");
    row("inputs", &PlanMemory::inputs);
    cotangentRow();
    row("outputs", &PlanMemory::outputs);
    row("choices", &PlanMemory::choices, /*isOptional=*/true);
    row("activations", &PlanMemory::activations);
    planRow("peak", &Plan::arenaBytes, /*isOptional=*/false);
    if (views.front().serialBytes != views.front().arenaBytes)
      planRow("  serial", &Plan::serialBytes, /*isOptional=*/true,
              "without overlap; what it may add: --overlap-memory");
    planRow("saved", &Plan::savedBytes, /*isOptional=*/true,
            "of the above, for backward");
    return "\nMemory per rank\n" + table.text();
  }

private:
  void addHeads() {
    if (views.size() == 1)
      return;
    std::vector<std::string> heads = {""};
    for (size_t stage = 0; stage < views.size(); ++stage)
      heads.push_back(fmt::format("stage {}", stage));
    heads.push_back("");
    table.add(heads);
  }

  /// An optional row is left out if all its values are 0.
  void add(const char *name, const std::vector<int64_t> &values,
           bool isOptional, const char *note) {
    if (isOptional && std::all_of(values.begin(), values.end(),
                                  [](int64_t value) { return value == 0; }))
      return;
    std::vector<std::string> cells = {name};
    for (int64_t value : values)
      cells.push_back(bytesText(value));
    cells.push_back(*note ? fmt::format("({})", note) : "");
    table.add(cells);
  }

  void row(const char *name, int64_t PlanMemory::*part, bool isOptional = false,
           const char *note = "") {
    std::vector<int64_t> values;
    for (const PlanMemory &each : parts)
      values.push_back(each.*part);
    add(name, values, isOptional, note);
  }

  /// The part of the inputs that is cotangents, unless it is next to nothing,
  /// as a loss's is.
  void cotangentRow() {
    std::vector<int64_t> values;
    bool isWorthARow = false;
    for (size_t i = 0; i < views.size(); ++i) {
      int64_t &bytes = values.emplace_back(0);
      for (const PlanBuffer &tensor : views[i].tensors())
        bytes += tensor.isCotangent() ? tensor.bytes : 0;
      isWorthARow |= bytes * 100 > parts[i].inputs;
    }
    if (isWorthARow)
      add("  cotangents", values, /*isOptional=*/false,
          "of results; of the inputs");
  }

  void planRow(const char *name, int64_t Plan::*part, bool isOptional,
               const char *note = "") {
    std::vector<int64_t> values;
    for (const Plan &view : views)
      values.push_back(view.*part);
    add(name, values, isOptional, note);
  }

  std::vector<Plan> views;
  std::vector<PlanMemory> parts;
  TextTable table;
};

} // namespace

std::string tpsp::rt::memoryText(const Plan &plan, int64_t residentBytes) {
  std::string text = MemoryTable(plan).text();
  if (residentBytes)
    text += fmt::format(
        "  {}{}: {} planned, {} resident\n", plan.numRanks() > 1 ? "all " : "",
        counted(plan.numRanks(), "rank"),
        bytesText(double(bytesOfAllRanks(plan))), bytesText(residentBytes));
  return text;
}
