// tpsp-print-explanation: a program in sharded einsum notation, with the
// collective ledger.
#include "tpsp/Passes/FunctionWalk.h"
#include "tpsp/Passes/Ledger.h"
#include "tpsp/Passes/Passes.h"
#include "tpsp/Passes/SavedActivations.h"
#include "tpsp/Passes/SourceName.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

namespace tpsp {
#define GEN_PASS_DEF_PRINTEXPLANATION
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

class Explanation {
public:
  Explanation(FunctionOpInterface function, llvm::raw_ostream &out)
      : function(function), mesh(meshOf(function)), out(out) {}

  void print() {
    printHeading();
    StringRef phase;
    for (Operation &op :
         function.getFunctionBody().front().without_terminator()) {
      StringRef here = op.hasAttr(backwardAttrName) ? "backward" : "forward";
      if (here != phase)
        out << "\n" << here << "\n";
      phase = here;
      if (auto collective = dyn_cast<CollectiveOpInterface>(op))
        printCollective(collective);
      else if (op.getNumResults() == 1 && getIdx(op.getResult(0)))
        printEquation(&op);
    }
    printTotals();
    printSaved();
  }

private:
  void printHeading() {
    out << function.getName() << " on ";
    llvm::ListSeparator comma;
    for (AxisId axis = 0; axis < mesh.numAxes(); ++axis)
      out << comma << mesh.axis(axis).name << "=" << mesh.size(axis);
    if (mesh.numAxes() == 0)
      out << "one rank";
    out << "\n";
  }

  /// "xn", or a number for what has no name in the source.
  std::string nameOf(Value value) {
    if (auto *op = value.getDefiningOp(); op && isa<CollectiveOpInterface>(op))
      return nameOf(op->getOperand(cast<OpResult>(value).getResultNumber()));
    if (isa<BlockArgument>(value) || sourceName(value.getLoc()))
      return tensorName(value);
    auto [entry, isNew] = numbers.try_emplace(value, numbers.size());
    return "t" + std::to_string(entry->second);
  }

  /// "xn[b, s@tp, d]"
  std::string indexed(Value value) {
    return nameOf(value) + "[" + subscripts(value.getType()) + "]";
  }

  std::string attributesOf(Operation *op) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    for (NamedAttribute attr : op->getAttrs()) {
      // Marks for passes: tpsp.backward and the like.
      if (attr.getNameDialect())
        continue;
      stream << ", " << attr.getName().getValue();
      if (auto string = dyn_cast<StringAttr>(attr.getValue()))
        stream << "=" << string.getValue();
      else if (auto number = dyn_cast<FloatAttr>(attr.getValue()))
        stream << "=" << llvm::format("%.4g", number.getValueAsDouble());
      else if (!isa<UnitAttr>(attr.getValue()))
        stream << "=" << attr.getValue();
    }
    return text;
  }

  void printEquation(Operation *op) {
    auto indexedOp = dyn_cast<IndexedOpInterface>(op);
    std::vector<std::string> operands;
    for (Value operand : op->getOperands())
      operands.push_back(indexed(operand));
    out << "  " << indexed(op->getResult(0)) << " = ";
    if (indexedOp && indexedOp.isSumOfProducts())
      out << llvm::join(operands, " · ");
    else if (indexedOp && indexedOp.isSumOfOperands())
      out << llvm::join(operands, " + ");
    else
      out << op->getName().stripDialect() << "(" << llvm::join(operands, ", ")
          << attributesOf(op) << ")";
    out << (op->hasAttr(recomputedAttrName) ? "  (recomputed)\n" : "\n");
  }

  void printCollective(CollectiveOpInterface op) {
    DictionaryAttr row = ledgerOf(op, mesh);
    StringRef kind = op->getName().stripDialect();
    int64_t bytes = row.getAs<IntegerAttr>("bytes").getInt();
    std::string axes = llvm::join(
        llvm::map_range(row.getAs<ArrayAttr>("axes").getAsRange<StringAttr>(),
                        [](StringAttr axis) { return axis.getValue(); }),
        ",");
    for (auto [operand, result] :
         llvm::zip_equal(op->getOperands(), op->getResults()))
      out << "    > " << kind << " " << indexed(operand) << " -> ["
          << subscripts(result.getType()) << "]\n";
    out << "      over " << axes;
    StringRef index = row.getAs<StringAttr>("index").getValue();
    if (!index.empty())
      out << " along " << index;
    out << ", " << formatBytes(bytes)
        << " per rank: " << row.getAs<StringAttr>("reason").getValue();
    if (auto file = op->getLoc()->findInstanceOf<FileLineColLoc>())
      out << " (" << file.getFilename().getValue() << ":" << file.getLine()
          << ")";
    out << "\n";
    std::string phase = row.getAs<StringAttr>("phase").getValue().str();
    totals[{phase == "backward", kind.str(), axes}].add(bytes);
  }

  void printTotals() {
    out << "\ntotals (bytes sent per rank)\n";
    if (totals.empty())
      out << "  no collectives\n";
    for (const auto &[key, total] : totals)
      out << llvm::formatv("  {0,-9} {1,-15} over {2,-8} x{3,-4} {4,12}\n",
                           std::get<0>(key) ? "backward" : "forward",
                           std::get<1>(key), std::get<2>(key), total.count,
                           formatBytes(total.bytes));
  }

  /// "xn[b, s@tp, d]"; "softmax[..]" for what has no name in the source, so
  /// that the layers' alike are one row.
  static std::string described(Value value) {
    Value named = value;
    while (auto *op = named.getDefiningOp()) {
      if (!isa<CollectiveOpInterface>(op))
        break;
      named = op->getOperand(cast<OpResult>(named).getResultNumber());
    }
    return tensorName(named) + "[" + subscripts(value.getType()) + "]";
  }

  void printSaved() {
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
    size_t width = 0;
    for (const auto &[name, total] : rows)
      width = std::max(width, name.size());
    out << "\nsaved for the backward pass (bytes per rank)\n";
    for (const auto &[name, total] : rows)
      out << "  " << llvm::left_justify(name.getValue(), width)
          << llvm::formatv(" x{0,-4} {1,12}\n", total.count,
                           formatBytes(total.bytes));
  }

  struct Total {
    int count = 0;
    int64_t bytes = 0;

    void add(int64_t more) {
      ++count;
      bytes += more;
    }
  };

  FunctionOpInterface function;
  Mesh mesh;
  llvm::raw_ostream &out;
  llvm::DenseMap<Value, unsigned> numbers;
  /// By phase (forward first), kind and axes.
  std::map<std::tuple<bool, std::string, std::string>, Total> totals;
};

struct PrintExplanation
    : public tpsp::impl::PrintExplanationBase<PrintExplanation> {
  using Base::Base;
  void runOnOperation() override {
    markAllAnalysesPreserved();
    bool first = true;
    auto visit = [&](FunctionOpInterface function) {
      if (!first)
        llvm::outs() << "\n";
      first = false;
      Explanation(function, llvm::outs()).print();
      return success();
    };
    if (failed(forEachFunction(getOperation(), visit)))
      signalPassFailure();
  }
};

} // namespace
