// tpsp-print-explanation: prints a program in sharded einsum notation, with the
// ledger of its collectives.
#include "EquationNames.h"
#include "ExplanationTables.h"

#include "Passes/Collectives/Ledger.h"
#include "Passes/Program/FunctionWalk.h"
#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"
#include "tpsp/Passes/Explain/Explanation.h"
#include "tpsp/Passes/Passes.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringExtras.h"

namespace tpsp {
#define GEN_PASS_DEF_PRINTEXPLANATION
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

class Explanation {
public:
  Explanation(FunctionOpInterface function,
              const PrintExplanationOptions &options, raw_ostream &out)
      : mesh(meshOf(function)), options(options), function(function), out(out),
        equations(equationsOf(function, options.parts)),
        repetition(function.getFunctionBody().front()),
        blocks(blocksOf(equations, mesh, repetition, options.everyLayer)) {
    // Names are given in the order of the program, whatever part of it is
    // printed. Arguments keep their names.
    for (BlockArgument argument : function.getArguments())
      names.of(argument);
    for (const Equation &equation : equations)
      for (const EquationTensor &tensor : tensorsOf(equation))
        names.of(tensor.named);
  }

  void print() {
    auto nameOf = [&](Value value) { return names.of(value); };
    WrittenEquations written{equations, blocks, mesh};
    remarkAll();
    if (options.notation == "latex") {
      out << "% ";
      printHeading();
      return printLatex(written, nameOf, out);
    }
    std::unique_ptr<EquationNotation> notation =
        makeNotation(options.notation, mesh, equations);
    EquationText text(*notation, mesh, repetition, nameOf);
    printHeading();
    for (const EquationBlock &block : blocks)
      printBlock(block, text);
    notation->printLegend(out);
    if (options.extents)
      printExtents(written, text, out);
    if (options.dtensor)
      printDtensor(written, text, function->getParentOfType<ModuleOp>(), out);
    if (options.rule)
      printRule(written, text, out);
    printTotals(written, out);
    printSaved(function, mesh, out);
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

  void printBlock(const EquationBlock &block, EquationText &text) {
    StringRef margin = block.times > 1 ? "  | " : "  ";
    for (size_t i : block.equations) {
      const Equation &equation = equations[i];
      if (equation.phase != phase)
        out << "\n" << equation.phase << "\n";
      phase = equation.phase;
      if (block.times > 1 && i == block.equations.front())
        printTimes(block);
      auto print = [&](const std::vector<std::string> &lines) {
        for (const std::string &line : lines)
          out << margin << line << "\n";
      };
      print(text.equation(equation));
      for (CollectiveOpInterface collective : equation.collectives)
        print(text.movement(collective, options.everyLayer));
      print(text.present(equation));
    }
  }

  /// "x 32 (layer0 to layer31), each next one with layer0.z for x"
  void printTimes(const EquationBlock &block) {
    out << "  x " << block.times;
    if (!block.firstCall.empty() && block.firstCall != block.lastCall)
      out << " (" << block.firstCall << " to " << block.lastCall << ")";
    out << ", each next one with ";
    llvm::ListSeparator comma;
    for (auto [first, second] : block.handedOn)
      out << comma << names.of(second) << " for " << names.of(first);
    out << "\n";
  }

  void remarkAll() const {
    for (const Equation &equation : equations)
      for (CollectiveOpInterface collective : equation.collectives)
        remarkOn(collective);
  }

  void remarkOn(CollectiveOpInterface op) const {
    LedgerRow row = ledgerOf(op, mesh);
    remark::analysis(op->getLoc(),
                     remark::RemarkOpts::name(op->getName().stripDialect())
                         .category("tpsp-print-explanation"))
        << remark::reason("{0}", row.reason)
        << remark::metric("axes", axesOf(row))
        << remark::metric("index", row.index)
        << remark::metric("phase", nameOf(row.phase))
        << remark::metric("bytes", row.bytes)
        << remark::metric("tensor", row.tensor);
  }

  Mesh mesh;
  const PrintExplanationOptions &options;
  FunctionOpInterface function;
  raw_ostream &out;
  std::vector<Equation> equations;
  Repetition repetition;
  std::vector<EquationBlock> blocks;
  EquationNames names;
  std::string phase;
};

LogicalResult explain(ModuleOp module, const PrintExplanationOptions &options,
                      raw_ostream &out) {
  bool first = true;
  return forEachFunction(module, [&](FunctionOpInterface function) {
    if (!first)
      out << "\n";
    first = false;
    Explanation(function, options, out).print();
    return success();
  });
}

struct PrintExplanation
    : public tpsp::impl::PrintExplanationBase<PrintExplanation> {
  using Base::Base;
  void runOnOperation() override {
    markAllAnalysesPreserved();
    StringRef chosen = notation.getValue();
    if (!llvm::is_contained({"subscripts", "explicit", "latex"}, chosen)) {
      emitOptionError(getOperation(), getArgument(), "notation")
          << "no notation is called '" << chosen
          << "'; there are subscripts, explicit and latex";
      return signalPassFailure();
    }
    PrintExplanationOptions options{notation, extents,    rule,
                                    parts,    everyLayer, dtensor};
    if (failed(explain(getOperation(), options, llvm::outs())))
      signalPassFailure();
  }
};

} // namespace

std::string tpsp::explanationOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  // Cannot fail: earlier passes ensure that a program with collectives is
  // straight-line.
  (void)explain(module, {}, out);
  return text;
}
