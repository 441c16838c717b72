#include "Options.h"

#include "common/OptionDeclaration.h"

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

Exit status: 0 done, 1 the program or the run failed, 2 wrong usage,
3 the step that --simulate predicts does not fit into the machine's memory,
4 with --verify: no result is wrong, but some are infinite or NaN.)";

static void declareOptions(CLI::App &app, Options &options) {
  Declaration<Options> declare(app, options);
  declareCompiling(app, options, declare);
  declare.group = "What is done with it";
  declareCommon(declare);
#define OPTION(type, field, value, row) declare(&Options::field, row);
#include "RunOptions.def"
#undef OPTION
}

int tpsp::run::parseOptions(int argc, char **argv, Options &options,
                            std::string *said) {
  return parseCommandLine(
      argc, argv, options,
      {"Compiles a sharded einsum program and runs it, one thread of this "
       "process per rank, or one process under mpirun.",
       footer, [&](CLI::App &app) { declareOptions(app, options); },
       [&] { return contradictionIn(options); }},
      said);
}

Agreed tpsp::run::agreedOptions(const Options &options) {
  Agreed out = tool::agreedOptions(options);
  AgreedRows<Options> collect(options, out);
#define OPTION(type, field, value, row) collect(&Options::field, row);
#include "RunOptions.def"
#undef OPTION
  return out;
}
