#include "Options.h"

#include "Compilation.h"

#include "tpsp/Runtime/Backend.h"
#include "tpsp/Runtime/BuiltinBackends.h"
#include "tpsp/Runtime/Driver/Inputs.h"
#include "tpsp/Runtime/Driver/PlanFile.h"

#include <CLI/CLI.hpp>

#include <charconv>
#include <filesystem>
#include <set>
#include <sstream>

using namespace tpsp::run;

namespace {

constexpr const char *footer = R"(Examples:
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

} // namespace

static int wrongUsage(const std::string &message, std::ostream &err) {
  err << "tpsp-run: " << message << "\n";
  return Usage;
}

/// A number above 0; CLI11's own check names the largest double. Seconds are
/// counted in nanoseconds, of which 64 bits hold some 9e9 seconds.
static CLI::Validator positive() {
  auto check = [](const std::string &text) -> std::string {
    double number = 0;
    if (CLI::detail::lexical_cast(text, number) && number > 1e9)
      return "expected a number of at most 1e9, not '" + text + "'";
    if (number > 0)
      return "";
    return "expected a number above 0, not '" + text + "'";
  };
  return {check, "POSITIVE"};
}

/// A number from 0 up, of a size that there may be.
static CLI::Validator notNegative() {
  auto check = [](const std::string &text) -> std::string {
    double number = 0;
    if (CLI::detail::lexical_cast(text, number) && number >= 0 && number < 1e9)
      return "";
    return "expected a number from 0 to 1e9, not '" + text + "'";
  };
  return {check, "NUMBER"};
}

/// "tp=4". Which axes there are, the module says.
static CLI::Validator axisSize() {
  auto check = [](const std::string &text) -> std::string {
    size_t equals = text.find('=');
    const char *end = text.data() + text.size();
    int64_t size = 0;
    if (equals != std::string::npos && equals > 0) {
      auto parsed = std::from_chars(text.data() + equals + 1, end, size);
      if (parsed.ec == std::errc() && parsed.ptr == end && size > 0)
        return "";
    }
    return "expected axis=size with a size of at least 1, such as tp=4, not '" +
           text + "'";
  };
  return {check, "AXIS=SIZE"};
}

/// A flag that is given and is about what a run computes; empty if none is.
static std::string flagThatNeedsARun(const Options &options) {
  for (auto [isSet, flag] : {std::pair(options.verify, "--verify"),
                             std::pair(!options.weights.empty(), "--weights"),
                             std::pair(!options.inputs.empty(), "--inputs"),
                             std::pair(!options.save.empty(), "--save"),
                             std::pair(!options.saveAll.empty(), "--save-all")})
    if (isSet)
      return flag;
  return "";
}

/// A flag that is given and asks for what a step was, or is predicted to be;
/// empty if none is.
static std::string flagThatNeedsAStep(const Options &options) {
  for (auto [isSet, flag] :
       {std::pair(!options.report.empty(), "--report"),
        std::pair(!options.trace.empty(), "--trace"),
        std::pair(!options.timeline.empty(), "--timeline")})
    if (isSet)
      return flag;
  return flagThatNeedsARun(options);
}

/// An output that would replace what is read, or another output; empty if none.
static std::string outputInTheWay(const Options &options) {
  namespace fs = std::filesystem;
  std::vector<std::pair<std::string, std::string>> outputs;
  for (auto [flag, path] :
       {std::pair("--save", options.save), std::pair("--emit", options.emit),
        std::pair("--save-all", options.saveAll),
        std::pair("--report", options.report),
        std::pair("--trace", options.trace), std::pair("-o", options.output),
        std::pair("--timeline", options.timeline)})
    if (!path.empty())
      outputs.emplace_back(flag, path);
  std::error_code none; // of a file that is not there, too
  for (const auto &[flag, path] : outputs) {
    // New parameters may replace the old ones: those have all been read.
    std::vector<std::string> inputs = {options.model};
    if (flag != "--save")
      inputs.push_back(options.weights);
    for (const std::string &input : options.inputs)
      inputs.push_back(tpsp::rt::parseInputsFile(input).path);
    for (const std::string &input : inputs)
      if (!input.empty() && fs::equivalent(path, input, none) &&
          fs::is_regular_file(input, none))
        return flag + " would replace '" + input +
               "', which is read; give another path";
    for (const auto &[other, otherPath] : outputs)
      if (flag < other && path == otherPath &&
          (!fs::exists(path, none) || fs::is_regular_file(path, none)))
        return flag + " and " + other + " are one file, '" + path + "'";
  }
  return "";
}

/// What options do not allow together, or at all; empty if nothing.
static std::string contradictionIn(const Options &options) {
  if (std::string problem = flagThatNeedsARun(options);
      options.simulate && !problem.empty())
    return problem + " needs a run, and --simulate runs nothing; run the "
                     "program without it";
  if (!options.emit.empty()) {
    std::string flag = flagThatNeedsAStep(options);
    if (options.simulate)
      flag = "--simulate";
    if (!flag.empty())
      return flag + " does not go with --emit, which compiles and ends; give "
                    "it when the plan runs";
  }
  if (options.strategy == "auto")
    return "--strategy auto needs the planner, which is not built yet; the "
           "program runs as it is written";
  for (auto [isSet, flag] :
       {std::pair(options.rematerialize != "none", "--rematerialize"),
        std::pair(options.keepGathered, "--keep-gathered")})
    if (isSet && !options.grad)
      return std::string(flag) + " says what the backward pass keeps, and "
                                 "there is none without --grad";
  if (options.inputGradients == "off" && !options.grad)
    return "--input-gradients off leaves gradients out, and there are none "
           "without --grad";
  if (options.attentionBlock != Options().attentionBlock &&
      options.attention != "blocks")
    return "--attention-block goes with --attention blocks";
  std::set<std::string> axes;
  for (const std::string &entry : options.mesh) {
    std::string axis = entry.substr(0, entry.find('='));
    if (!axes.insert(axis).second)
      return "--mesh gives axis '" + axis + "' two sizes";
  }
  // A shared object, which is loaded when something is to run.
  if (options.backend == "cuda")
    return "";
  if (options.graph != "auto")
    return "--graph " + options.graph + " goes with --backend cuda";
  if (options.ncclAlways && options.emit.empty())
    return "--nccl-always goes with --backend cuda, or with --emit";
  tpsp::rt::registerBuiltinBackends();
  tpsp::rt::BackendFactory factory;
  if (tpsp::rt::Status status = tpsp::rt::findBackend(options.backend, factory);
      !status.ok())
    return status.message();
  if (options.backend != "trace")
    return "";
  if (std::string flag = flagThatNeedsAStep(options); !flag.empty())
    return flag + " needs a run, and --backend trace runs nothing; use "
                  "--backend cpu";
  return "";
}

/// Calibrating takes no model, everything else takes one.
static std::string calibrationProblem(const Options &options,
                                      const CLI::Option &model,
                                      const CLI::Option &output) {
  if (options.calibrate && (model.count() > 0 || options.simulate))
    return "--calibrate measures this machine and runs no model; give the file "
           "that it writes to --simulate --hardware";
  if (options.calibrate && options.backend == "trace")
    return "--backend trace runs nothing that could be measured; --calibrate "
           "takes --backend cpu or cuda";
  if (output.count() > 0 && !options.calibrate)
    return "-o goes with --calibrate";
  if (!options.calibrate && model.count() == 0)
    return "model is required\nRun with --help for more information.";
  return "";
}

/// What has been decided when a plan was compiled.
constexpr const char *compiledFlags[] = {"--function",
                                         "--grad",
                                         "--keep-masks",
                                         "--input-gradients",
                                         "--rematerialize",
                                         "--attention",
                                         "--attention-block",
                                         "--keep-gathered",
                                         "--dtype",
                                         "--simulate",
                                         "--hardware",
                                         "--strategy",
                                         "--overlap",
                                         "--overlap-buffers",
                                         "--overlap-chunks",
                                         "--require-overlap",
                                         "--shard-replicated",
                                         "--micro-batches",
                                         "--micro-batch-index",
                                         "--bucket-mib",
                                         "--emit",
                                         "--target-cpu",
                                         "--epilogues"};

/// A flag that comes too late for a compiled plan; empty if none does.
static std::string lateFlag(const CLI::App &app, const Options &options) {
  for (const char *flag : compiledFlags)
    if (options.isPlan && app.get_option(flag)->count() > 0)
      return "'" + options.model + "' is compiled, and " + flag +
             " is about compiling; give it to tpsp-run MODEL.mlir --emit";
  return "";
}

/// Whether the file is meant to be a compiled plan.
static bool isPlan(const std::string &path) {
  constexpr std::string_view suffix = ".so";
  bool isCalledSo =
      path.size() > suffix.size() &&
      path.compare(path.size() - suffix.size(), suffix.size(), suffix) == 0;
  return isCalledSo || tpsp::rt::looksLikePlan(path);
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
  CLI::Option *model = app.add_option(
      "model", options.model, "The model, a .mlir file, or a compiled plan");
  app.add_option("--function", options.function,
                 "Which function; needed if the module has several");
  app.add_option("--mesh", options.mesh,
                 "Sizes for axes of the module's mesh: tp=4,dp=2")
      ->delimiter(',')
      ->allow_extra_args(false) // the model may follow
      ->check(axisSize());
  app.add_flag("--grad", options.grad, "With the backward pass");
  app.add_option("--input-gradients", options.inputGradients,
                 "With --grad: gradients of inputs, too: on, or off, as if "
                 "every input of floating-point numbers were tpsp.frozen")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
  app.add_flag("--keep-masks", options.keepMasks,
               "Store dropout masks for the backward pass, a byte per element, "
               "instead of drawing them again");
  app.add_option("--attention", options.attention,
                 "rows: a whole row of scores at once; blocks: a block of keys "
                 "at a time, with a running softmax, around a ring where an "
                 "axis divides the sequence; fused: in one call of a library, "
                 "where it has one; auto: fused on a GPU with cuDNN, else rows")
      ->check(CLI::IsMember({"auto", "rows", "blocks", "fused"}))
      ->capture_default_str();
  app.add_option("--attention-block", options.attentionBlock,
                 "Keys of a block, at most, with --attention blocks")
      ->check(positive())
      ->capture_default_str();
  app.add_option("--rematerialize", options.rematerialize,
                 "What the backward pass computes again instead of keeping it: "
                 "none, selective (attention's scores), full (all of a layer)")
      ->check(CLI::IsMember({"none", "selective", "full"}))
      ->capture_default_str();
  app.add_flag("--keep-gathered", options.keepGathered,
               "Keep gathered tensors for the backward pass: less "
               "communication, more memory");
  app.add_option("--backend", options.backend,
                 "cpu; cuda (docs/Cuda.md); trace: run nothing and print rank "
                 "0's calls")
      ->capture_default_str();
  app.add_option(
         "--dtype", options.dtype,
         "Store all tensors as f64 (to decide doubts), f32, bf16 or f16 "
         "(default: as written)")
      ->check(CLI::IsMember({"f64", "f32", "bf16", "f16"}));
  app.add_option("--steps", options.steps, "How many steps")
      ->check(positive())
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Of the random arguments")
      ->capture_default_str();
  app.add_option(
      "--weights", options.weights,
      "Take the parameters from this safetensors file, or from those "
      "that an index (model.safetensors.index.json) names");
  app.add_option("--inputs", options.inputs,
                 "Take arguments (inputs, parameters, cotangents) by name from "
                 "this file: F.safetensors, NAME.npy or NAME=F.npy; may be "
                 "repeated (docs/Inputs.md)")
      ->allow_extra_args(false); // the model may follow
  app.add_option("--save", options.save,
                 "Write the parameters, after the last step, as safetensors");
  app.add_option("--save-all", options.saveAll,
                 "Write every argument, result and gradient, after the last "
                 "step, as safetensors");
  app.add_option("--threads", options.threads,
                 "Compute threads per rank (default: cores / ranks)")
      ->check(positive());
  app.add_option("--timeout", options.timeout,
                 "Seconds that a rank waits for the others of a collective")
      ->check(positive())
      ->capture_default_str();
  app.add_option("--graph", options.graph,
                 "With --backend cuda: replay steps from the second on as a "
                 "CUDA graph: on, off, or auto: not with several GPUs in one "
                 "process. Off by itself where ranks share a GPU, and with "
                 "--trace or --timeline")
      ->check(CLI::IsMember({"auto", "on", "off"}))
      ->capture_default_str();
  app.add_flag("--nccl-always", options.ncclAlways,
               "With --backend cuda: collectives of one rank go through NCCL, "
               "too. With --emit: the plan keeps them. A plan needs both");
  app.add_flag("--verify", options.verify,
               "Compare every output and gradient with the unsharded program "
               "in f64");
  app.add_option("--report", options.report,
                 "Write ledger, memory, times and errors as JSON");
  app.add_option("--trace", options.trace,
                 "Write when each command of the last step ran, for Perfetto's "
                 "or Chrome's viewer");
  app.add_option("--timeline", options.timeline,
                 "Write a picture of the last step, as SVG");
  app.add_flag("--simulate", options.simulate,
               "Predict time and memory on --hardware instead of running");
  app.add_option("--emit", options.emit,
                 "Compile into this file (PLAN.so) and run nothing");
  CLI::Option *targetCpu =
      app.add_option("--target-cpu", options.targetCpu,
                     "With --emit: what the code may need of a processor: "
                     "x86-64, x86-64-v2, -v3 or -v4 (default: -v3, or less if "
                     "this machine has less)")
          ->check(
              CLI::IsMember({"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"}));
  app.add_flag("--calibrate", options.calibrate,
               "Measure this machine's operations (with --backend cuda: its "
               "GPUs'), run no model, and write a description for --hardware");
  CLI::Option *output =
      app.add_option("-o,--output", options.output,
                     "With --calibrate: the file (default: standard output)");
  CLI::Option *hardware =
      app.add_option("--hardware", options.hardware,
                     "What --simulate and --overlap take costs from: " +
                         hardwareNames() + ", or a file (docs/Hardware.md)")
          ->capture_default_str();
  app.add_option("--strategy", options.strategy,
                 "Shardings as-written; auto is not in this build")
      ->check(CLI::IsMember({"as-written", "auto"}))
      ->capture_default_str();
  app.add_option("--epilogues", options.epilogues,
                 "Do what reads a product element by element (bias, GELU), and "
                 "bias gradients, in the matmul: off, on, or auto: for GPUs "
                 "(docs/Passes.md)")
      ->check(CLI::IsMember({"off", "on", "auto"}))
      ->capture_default_str();
  app.add_option("--overlap", options.overlap,
                 "Communicate under computation: off, on (docs/Overlap.md)")
      ->check(CLI::IsMember({"off", "on"}))
      ->capture_default_str();
  app.add_option("--overlap-buffers", options.overlapBuffers,
                 "With --overlap on: how many times the memory for "
                 "communication that the program needs without; 0: 2, or more "
                 "where that pays")
      ->check(notNegative())
      ->capture_default_str();
  app.add_option("--overlap-chunks", options.overlapChunks,
                 "With --overlap on: cut all collectives that can be cut with "
                 "their products, reductions into so many chunks, tiles of "
                 "rings into so many parts; 0: what helps; 1: none")
      ->check(notNegative())
      ->capture_default_str();
  CLI::Option *require =
      app.add_option("--require-overlap", options.requireOverlap,
                     "With --overlap on: fail, and say why, unless this share "
                     "of the communication (0 to 1) is hidden on --hardware")
          ->check(CLI::Range(0.0, 1.0));
  app.add_option(
         "--shard-replicated", options.shardReplicated,
         "Shard what is replicated only because nothing was put on it "
         "(TP becomes TP+SP): off; memory, wherever possible; time, where "
         "that is faster on --hardware")
      ->check(CLI::IsMember({"off", "memory", "time"}))
      ->capture_default_str();
  app.add_option("--micro-batches", options.microBatches,
                 "Do a step in so many parts of the batch, one after another")
      ->check(positive())
      ->capture_default_str();
  app.add_option("--micro-batch-index", options.microBatchIndex,
                 "The index that --micro-batches cuts")
      ->capture_default_str();
  app.add_option("--bucket-mib", options.bucketMib,
                 "Reduce gradients in buckets of this many MiB; 0: each alone")
      ->check(notNegative())
      ->capture_default_str();
  app.add_flag("--quiet", options.quiet, "Print errors only");
  app.add_flag("--every-layer", options.everyLayer,
               "Print the collectives of layers that are equal one by one");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error, out, err) == 0 ? Done : Usage;
  }
  if (std::string problem = calibrationProblem(options, *model, *output);
      !problem.empty())
    return wrongUsage(problem, err);
  if (options.calibrate)
    return -1;
  if (require->count() > 0 && options.overlap == "off")
    return wrongUsage("--require-overlap needs --overlap on: without it all "
                      "communication is exposed",
                      err);
  if (hardware->count() > 0 && !options.simulate && options.overlap == "off" &&
      options.shardReplicated != "time")
    return wrongUsage("--hardware goes with --simulate, --overlap on or "
                      "--shard-replicated time; without them nothing asks what "
                      "things cost",
                      err);
  if (targetCpu->count() > 0 && options.emit.empty())
    return wrongUsage("--target-cpu goes with --emit", err);
  options.isPlan = isPlan(options.model);
  for (const std::string &message :
       {lateFlag(app, options), contradictionIn(options),
        outputInTheWay(options)})
    if (!message.empty())
      return wrongUsage(message, err);
  return -1;
}
