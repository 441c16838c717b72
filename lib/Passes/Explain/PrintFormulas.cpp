// tpsp-print-formulas: prints a program's collectives, products and memory as
// polynomials in the names of its indices and axes.
#include "Formulas.h"

#include "Passes/Program/FunctionWalk.h"
#include "tpsp/Dialect/Tpsp/IR/IndexedTensor.h"
#include "tpsp/Passes/Options/OptionFlags.h"
#include "tpsp/Passes/Passes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

namespace tpsp {
#define GEN_PASS_DEF_PRINTFORMULAS
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

class FormulasText {
public:
  FormulasText(const ProgramFormulas &formulas, raw_ostream &out)
      : formulas(formulas), out(out) {
    for (const ProgramFormulas::Name &name : formulas.names)
      order.push_back(name.name);
    // The layer count comes first: "4 L b s d".
    std::stable_partition(order.begin(), order.end(), [](StringRef name) {
      return name.ltrim('#').starts_with("L");
    });
  }

  void print(StringRef function) {
    out << function << "\n";
    printNames();
    printRows("collectives (bytes sent per rank)", formulas.collectives,
              [](double bytes) { return formatBytes(int64_t(bytes)); });
    printRows("products (FLOPs per rank)", formulas.products, [](double flops) {
      return llvm::formatv("{0:e3}", flops).str();
    });
    printRows("memory (bytes per rank)", formulas.memory,
              [](double bytes) { return formatBytes(int64_t(bytes)); });
  }

private:
  void printNames() {
    out << "  ";
    llvm::ListSeparator comma;
    for (const ProgramFormulas::Name &name : formulas.names) {
      out << comma << name.name << " = " << name.value;
      if (!name.note.empty())
        out << " (" << name.note << ")";
    }
    out << "\n";
    if (!formulas.others.empty())
      out << "  " << llvm::join(formulas.others, ", ") << "\n";
  }

  void printRows(StringRef heading, ArrayRef<FormulaRow> rows,
                 function_ref<std::string(double)> write) {
    out << "\n" << heading << "\n";
    if (rows.empty())
      out << "  none\n";
    for (const FormulaRow &row : rows)
      out << "  " << row.what << ": " << withValue(row.count, row.counted)
          << "\n      " << row.amount.text(order) << " = "
          << write(row.measured) << "\n";
  }

  /// "6 L = 12", "3"
  std::string withValue(const Formula &formula, int64_t value) const {
    std::string number = std::to_string(value), text = formula.text(order);
    return text == number ? text : text + " = " + number;
  }

  const ProgramFormulas &formulas;
  raw_ostream &out;
  std::vector<std::string> order;
};

struct PrintFormulas
    : public WithOptions<tpsp::impl::PrintFormulasBase<PrintFormulas>,
                         &CompileOptions::microBatches> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    int64_t microBatches = options().microBatches;
    if (microBatches != 1) {
      emitError(getOperation().getLoc())
          << "formulas are of a step in one piece, and " << microBatches
          << " micro-batches are asked for; leave them out: what moves for "
             "activations then moves once for each, of its share of the batch";
      return signalPassFailure();
    }
    bool first = true;
    auto visit = [&](FunctionOpInterface function) {
      if (!first)
        llvm::outs() << "\n";
      first = false;
      ProgramFormulas formulas = formulasOf(function, meshOf(function));
      FormulasText(formulas, llvm::outs()).print(function.getName());
    };
    if (failed(forEachFunction(getOperation(), visit)))
      signalPassFailure();
  }
};

} // namespace
