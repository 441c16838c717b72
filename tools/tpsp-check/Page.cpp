#include "Page.h"

#include "Opened.h"

#include "tpsp/Runtime/Driver/Files/WholeFile.h"

#include <fstream>
#include <iterator>

using namespace tpsp;
using namespace tpsp::checktool;
using rt::Status;

/// The text and the equations of the model; empty if it is a compiled plan.
static Status describe(const Options &options, tool::Progress &progress,
                       rt::PageModel &out) {
  out.path = options.model;
  tool::CompileUse use;
  use.isExplained = true;
  tool::Program program;
  TPSP_TRY(tool::openProgram(recordedAs(options), use, /*speaks=*/false,
                             progress, program));
  out.explanation = std::move(program.explanation);
  if (out.explanation.empty())
    return {};
  std::ifstream file(options.model, std::ios::binary);
  out.text.assign(std::istreambuf_iterator<char>(file), {});
  return {};
}

Status tpsp::checktool::writePage(const Options &options,
                                  tool::Progress &progress,
                                  const std::vector<rt::PageCheck> &checks) {
  rt::PageModel model;
  if (!options.model.empty())
    TPSP_TRY(describe(options, progress, model));
  return rt::writeText(options.html, rt::toPage(model, checks));
}
