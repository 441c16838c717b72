#include "Page.h"

#include "Opened.h"

#include "tpsp/Abi/FileHandle.h"
#include "tpsp/Dialect/Tpsp/IR/ModelText.h"
#include "tpsp/Runtime/Driver/Files/WholeFile.h"

using namespace tpsp;
using namespace tpsp::checktool;
using rt::Status;

/// The text and the equations of the model; empty if it is a compiled plan.
static Status describe(const Options &options, bool hasGradients,
                       tool::Progress &progress, rt::PageModel &out) {
  out.path = options.model;
  tool::CompileUse use;
  use.isExplained = true;
  tool::Program program;
  TPSP_TRY(tool::openProgram(recordedAs(options, hasGradients), use,
                             /*speaks=*/false, progress, program));
  out.explanation = std::move(program.explanation);
  if (out.explanation.empty())
    return {};
  return rt::readWhole(options.model, maxModelBytes, out.text);
}

Status tpsp::checktool::writePage(const Options &options, bool hasGradients,
                                  tool::Progress &progress,
                                  const std::vector<rt::PageCheck> &checks) {
  rt::PageModel model;
  if (!options.model.empty())
    TPSP_TRY(describe(options, hasGradients, progress, model));
  return rt::writeText(options.html, rt::toPage(model, checks));
}
