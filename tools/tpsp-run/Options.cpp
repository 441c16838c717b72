#include "Options.h"

#include "common/OptionDeclaration.h"

#include <sstream>

using namespace tpsp;
using namespace tpsp::run;

static constexpr const char *footer = R"(Examples:
  tpsp-run examples/mlp-sp.mlir --grad --verify
      run forward and backward on the file's own mesh and compare every output
      and gradient with the unsharded program in f64
  tpsp-run examples/gpt-block-sp.mlir --mesh tp=2 --grad --steps 5
      the same program on two ranks, five steps
  mpirun -n 4 tpsp-run examples/gpt-block-sp.mlir --grad --verify
      a process for each rank, on one host or several
  tpsp-run examples/llama3-8b-block.mlir --grad --dtype bf16 --report run.json
      bf16 storage, f32 accumulation; ledger, memory and times as JSON
  tpsp-run examples/llama3-8b-block.mlir --grad --simulate --hardware h100-sxm
      what the step would take on four H100, without running it
  tpsp-run examples/gpt-block-sp.mlir --grad --emit block.so
  tpsp-run block.so --verify
      compile into a file, and run that: also where there is no compiler

Exit status: 0 done, 1 the program or the run failed, 2 wrong usage.)";

/// Parses, and notes what was given.
static void parse(CLI::App &app, int argc, char **argv, Options &options) {
  Declaration<Options> declare(app, options);
  declareCompiling(app, options, declare);
  declare.group = "What is done with it";
  declareCommon(declare);
#define OPTION(type, field, value, row) declare(&Options::field, row);
#include "RunOptions.def"
#undef OPTION
  app.parse(argc, argv);
  noteGiven(app, options);
}

int tpsp::run::parseOptions(int argc, char **argv, Options &options,
                            bool isSilent) {
  std::ostringstream unheard;
  std::ostream &out = isSilent ? unheard : std::cout;
  std::ostream &err = isSilent ? unheard : std::cerr;
  CLI::App app("Compiles a sharded einsum program and runs it, one thread of "
               "this process per rank, or one process under mpirun.");
  app.footer(footer);
  app.failure_message([](const CLI::App *, const CLI::Error &error) {
    return std::string("tpsp-run: ") + error.what() +
           "\nRun with --help for more information.\n";
  });
  try {
    parse(app, argc, argv, options);
  } catch (const CLI::ParseError &error) {
    return app.exit(error, out, err) == 0 ? Done : Usage;
  }
  std::string problem = contradictionIn(options);
  if (problem.empty())
    return -1;
  err << "tpsp-run: " << problem << "\n";
  return Usage;
}
