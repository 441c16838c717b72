// tpsp-name-values: stores the author's names of values in locations.
#include "tpsp/Passes/Passes.h"

#include "tpsp/Dialect/Tpsp/IR/SourceNames.h"

#include "mlir/IR/BuiltinOps.h"

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
    nameValues(getOperation(), sources);
  }
};

} // namespace
