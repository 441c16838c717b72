// tpsp-set-padding: sets the larger extents that indices will run with.
#include "PaddingChoice.h"
#include "tpsp/Passes/Passes.h"

namespace tpsp {
#define GEN_PASS_DEF_SETPADDING
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

struct SetPadding : public tpsp::impl::SetPaddingBase<SetPadding> {
  using Base::Base;

  void runOnOperation() override {
    PaddingChoice choice(getOperation());
    for (StringRef entry : multiples)
      if (failed(choice.want(entry)))
        return signalPassFailure();
    if (failed(choice.write()))
      signalPassFailure();
  }
};

} // namespace
