// tpsp-set-padding: sets the larger extents that indices will run with.
#include "PaddingChoice.h"
#include "tpsp/Passes/Options/OptionFlags.h"
#include "tpsp/Passes/Passes.h"

namespace tpsp {
#define GEN_PASS_DEF_SETPADDING
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

struct SetPadding : public WithOptions<tpsp::impl::SetPaddingBase<SetPadding>,
                                       &CompileOptions::pad> {
  void runOnOperation() override {
    PaddingChoice choice(getOperation());
    for (StringRef entry : options().pad)
      if (failed(choice.want(entry)))
        return signalPassFailure();
    if (failed(choice.write()))
      signalPassFailure();
  }
};

} // namespace
