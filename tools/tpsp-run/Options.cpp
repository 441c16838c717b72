#include "Options.h"

#include <CLI/CLI.hpp>

using namespace tpsp::run;

namespace {

/// A flag of the design that this build cannot honour: refused with a sentence
/// rather than ignored.
struct Refusal {
  const char *flag;
  const char *why;
};
constexpr Refusal refusals[] = {
    {"--strategy", "needs the planner, which is not built yet; the program "
                   "runs as it is written"},
    {"--overlap", "needs the overlap scheduler, which is not built yet; "
                  "commands run one after another"},
    {"--simulate", "needs the simulator, which is not built yet; run the "
                   "program without it to measure"},
    {"--hardware", "goes with --simulate, which is not built yet"},
    {"--calibrate", "goes with --simulate, which is not built yet"},
    {"--trace", "needs the trace writer, which is not built yet; --backend "
                "trace prints the calls of one rank"},
    {"--emit", "needs compiled plans, which are not built yet; tpsp-run "
               "compiles in memory"},
    {"--weights", "needs the safetensors reader, which is not built yet; "
                  "arguments are random (--seed)"},
    {"--save", "needs the safetensors writer, which is not built yet"},
};

constexpr const char *footer = R"(Examples:
  tpsp-run examples/mlp-sp.mlir --grad --verify
      run forward and backward on the file's own mesh and compare every output
      and gradient with the unsharded program in f64
  tpsp-run examples/gpt-block-sp.mlir --mesh tp=2 --grad --steps 5
      the same program on two ranks, five steps
  tpsp-run examples/llama3-8b-block.mlir --grad --dtype bf16 --report run.json
      bf16 storage, f32 accumulation; ledger, memory and times as JSON

Exit status: 0 done, 1 the program or the run failed, 2 wrong usage.)";

} // namespace

static int refuse(const CLI::App &app) {
  for (const Refusal &refusal : refusals) {
    if (app.get_option(refusal.flag)->count() == 0)
      continue;
    std::cerr << "tpsp-run: " << refusal.flag << " " << refusal.why << "\n";
    return Usage;
  }
  return -1;
}

int tpsp::run::parseOptions(int argc, char **argv, Options &options) {
  CLI::App app("Compiles a sharded einsum program and runs it, one thread of "
               "this process per rank.");
  app.footer(footer);
  app.add_option("model", options.model, "The model, a .mlir file")->required();
  app.add_option("--function", options.function,
                 "Which function; needed if the module has several");
  app.add_option("--mesh", options.mesh,
                 "Sizes for axes of the module's mesh: tp=4,dp=2")
      ->delimiter(',');
  app.add_flag("--grad", options.grad, "With the backward pass");
  app.add_option("--backend", options.backend,
                 "cpu, or trace: run nothing and print rank 0's calls")
      ->capture_default_str();
  app.add_option("--dtype", options.dtype,
                 "Store all tensors as f32 or bf16 (default: as written)")
      ->check(CLI::IsMember({"f32", "bf16"}));
  app.add_option("--steps", options.steps, "How many steps")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Of the random arguments")
      ->capture_default_str();
  app.add_option("--threads", options.threads,
                 "Compute threads per rank (default: cores / ranks)")
      ->check(CLI::PositiveNumber);
  app.add_option("--timeout", options.timeout,
                 "Seconds that a rank waits for the others of a collective")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--verify", options.verify,
               "Compare every output and gradient with the unsharded program "
               "in f64");
  app.add_option("--report", options.report,
                 "Write ledger, memory, times and errors as JSON");
  app.add_flag("--quiet", options.quiet, "Print errors only");
  std::string ignored;
  for (const Refusal &refusal : refusals)
    app.add_option(refusal.flag, ignored, "Not in this build")
        ->expected(0, 1)
        ->group("Not in this build");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? Done : Usage;
  }
  if (options.backend == "cuda") {
    std::cerr << "tpsp-run: --backend cuda needs the CUDA backend, which is not "
                 "built yet; use --backend cpu\n";
    return Usage;
  }
  return refuse(app);
}
