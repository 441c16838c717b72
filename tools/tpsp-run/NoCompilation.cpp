#include "Compilation.h"

using namespace tpsp;
using namespace tpsp::run;

static rt::Status noCompiler(const std::string &what) {
  return {TPSP_RT_UNSUPPORTED,
          what + " needs the compiler, and this tpsp-run was built without it: "
                 "it runs compiled plans; make one where the compiler is, with "
                 "tpsp-run MODEL.mlir --emit PLAN.so"};
}

rt::Status tpsp::run::compile(const Options &options, bool, Progress &,
                              Program &) {
  return noCompiler("'" + options.model + "'");
}

rt::Status tpsp::run::emit(const Options &, bool, Progress &) {
  return noCompiler("--emit");
}

rt::Status tpsp::run::simulate(const Options &, bool, Progress &,
                               rt::RunReport &) {
  return noCompiler("--simulate");
}

rt::Status tpsp::run::calibrate(const Options &, Progress &, std::string &) {
  return noCompiler("--calibrate");
}

std::string tpsp::run::hardwareNames() { return "none in this build"; }
