// tpsp-name-values: stores the author's names of values in locations.
#include "tpsp/Passes/Passes.h"

#include "tpsp/Dialect/Tpsp/IR/SourceNames.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Location.h"

namespace tpsp {
#define GEN_PASS_DEF_NAMEVALUES
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

struct NameValues : public tpsp::impl::NameValuesBase<NameValues> {
  using Base::Base;

  void runOnOperation() override {
    SourceNames sources;
    getOperation().walk([&](Operation *op) {
      bool computes = isa<IndexedOpInterface>(op);
      if (op->getNumResults() == 1 || (computes && op->getNumResults() > 1))
        nameResult(op, sources);
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (BlockArgument argument : block.getArguments())
            nameArgument(argument, sources);
    });
  }

private:
  Location called(StringRef name, Location location) {
    return NameLoc::get(StringAttr::get(&getContext(), name), location);
  }

  void nameResult(Operation *op, SourceNames &sources) {
    auto location = dyn_cast<FileLineColLoc>(op->getLoc());
    if (!location)
      return;
    StringRef name =
        sources.linesOf(location).nameDefinedOn(location.getLine());
    if (!name.empty())
      op->setLoc(called(name, location));
  }

  void nameArgument(BlockArgument argument, SourceNames &sources) {
    auto location = dyn_cast<FileLineColLoc>(argument.getLoc());
    if (!location)
      return;
    StringRef name = sources.linesOf(location).argumentAt(location.getLine(),
                                                          location.getColumn());
    if (!name.empty())
      argument.setLoc(called(name, location));
  }
};

} // namespace
