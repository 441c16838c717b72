#include "WithCompiler.h"
#include "common/Compile.h"

using namespace tpsp;
using namespace tpsp::run;

rt::Status tpsp::run::emit(const Options &options, bool, Progress &) {
  return noCompiler(options, "--emit");
}

rt::Status tpsp::run::simulate(const Options &options, bool, Progress &,
                               rt::RunReport &) {
  return noCompiler(options, "--simulate");
}

std::optional<bool> tpsp::run::dividesLayers(const Options &) { return false; }

rt::Status tpsp::run::simulateStages(const Options &options, bool, Progress &,
                                     StagesOutput &) {
  return noCompiler(options, "--simulate");
}

rt::Status tpsp::run::calibrate(const Options &options, Progress &,
                                std::string &) {
  return noCompiler(options, "--calibrate");
}
