// tpsp-print-graph: prints a program as a graph, in Graphviz's language.
#include "EquationGraph.h"
#include "EquationNames.h"

#include "Passes/Program/FunctionWalk.h"
#include "tpsp/Passes/Passes.h"

namespace tpsp {
#define GEN_PASS_DEF_PRINTGRAPH
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

static void printFunction(FunctionOpInterface function, bool everyLayer,
                          raw_ostream &out) {
  Mesh mesh = meshOf(function);
  std::vector<Equation> equations = equationsOf(function, /*showsParts=*/false);
  Repetition repetition(function.getFunctionBody().front());
  std::vector<EquationBlock> blocks =
      blocksOf(equations, mesh, repetition, everyLayer);
  EquationNames names;
  for (BlockArgument argument : function.getArguments())
    names.of(argument);
  auto nameOf = [&](Value value) { return names.of(value); };
  std::unique_ptr<EquationNotation> notation =
      makeNotation("subscripts", mesh, equations);
  EquationText text(*notation, mesh, repetition, nameOf);
  printGraph({equations, blocks, mesh}, function.getName(), text, out);
}

namespace {

struct PrintGraph : public tpsp::impl::PrintGraphBase<PrintGraph> {
  using Base::Base;
  void runOnOperation() override {
    markAllAnalysesPreserved();
    LogicalResult done =
        forEachFunction(getOperation(), [&](FunctionOpInterface function) {
          printFunction(function, everyLayer, llvm::outs());
          return success();
        });
    if (failed(done))
      signalPassFailure();
  }
};

} // namespace
