#include "ExplanationTables.h"

#include "Passes/Collectives/Ledger.h"
#include "Passes/Program/SavedActivations.h"
#include "Passes/Program/SourceName.h"
#include "tpsp/Abi/CheckedMath.h"
#include "tpsp/Abi/TextTable.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;
using namespace tpsp;

namespace {

struct Total {
  int64_t count = 0, bytes = 0;

  void add(int64_t more, int64_t times = 1) {
    count += times;
    bytes = rt::saturatedSum(bytes, rt::saturatedProduct(more, times));
  }
};

} // namespace

void tpsp::printTotals(const WrittenEquations &written, raw_ostream &out) {
  /// Totals by phase, kind and axes.
  std::map<std::tuple<Phase, std::string, std::string>, Total> totals;
  std::map<std::pair<Phase, std::string>, Total> totalsOfAxes;
  for (const Equation &equation : written.equations)
    for (CollectiveOpInterface op : equation.collectives) {
      LedgerRow row = ledgerOf(op, written.mesh);
      Phase phase = phaseOf(op);
      std::string axes = axesOf(row);
      totals[{phase, op->getName().stripDialect().str(), axes}].add(row.bytes,
                                                                    row.times);
      totalsOfAxes[{phase, axes}].add(row.bytes, row.times);
    }
  out << "\ntotals (bytes sent per rank)\n";
  if (totals.empty())
    out << "  no collectives\n";
  TextTable table("llllr");
  auto add = [&](Phase phase, const std::string &kind, const std::string &axes,
                 const Total &total) {
    table.add({nameOf(phase), kind, "over " + axes,
               "x" + std::to_string(total.count), formatBytes(total.bytes)});
  };
  for (const auto &[key, total] : totals)
    add(std::get<0>(key), std::get<1>(key), std::get<2>(key), total);
  for (const auto &[key, total] : totalsOfAxes)
    add(key.first, "of every kind", key.second, total);
  out << table.text();
}

/// "xn[b, s@tp, d]" without the name of the call, or "softmax[..]" for a value
/// without a name. So equal values of many layers share a row.
static std::string described(Value value) {
  Value moved = namedValue(value);
  std::optional<std::string> name = nameInCallee(locationOf(moved));
  std::string text =
      name && !isa<BlockArgument>(moved) ? *name : tensorName(moved);
  return text + "[" + subscripts(value.getType()) + "]";
}

void tpsp::printSaved(FunctionOpInterface function, const Mesh &mesh,
                      raw_ostream &out) {
  auto text = [&](const Twine &name) {
    return StringAttr::get(function->getContext(), name);
  };
  llvm::MapVector<StringAttr, Total> rows;
  Total sum;
  for (const SavedActivation &tensor : savedActivations(function, mesh))
    for (Total *total : {&rows[text(described(tensor.value))], &sum})
      total->add(tensor.bytes);
  if (rows.empty())
    return;
  rows[text("total")] = sum;
  TextTable table("llr");
  for (const auto &[name, total] : rows)
    table.add({name.getValue().str(), "x" + std::to_string(total.count),
               formatBytes(total.bytes)});
  out << "\nsaved for the backward pass (bytes per rank)\n" << table.text();
}
