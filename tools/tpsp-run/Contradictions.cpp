// Options of tpsp-run that do not go together, as tables.
#include "Options.h"

#include "tpsp/Runtime/Driver/Tensors/Inputs.h"

#include <filesystem>

using namespace tpsp;
using namespace tpsp::run;

/// Calibrating takes no model, everything else takes one.
static std::string whenCalibrating(const Options &o) {
  return firstOf(
      {{o.calibrate && (o.has("model") || o.simulate),
        {},
        "--calibrate measures this machine and runs no model; give the file "
        "that it writes to --simulate --hardware"},
       {o.calibrate && o.backend == "trace",
        {},
        "--backend trace runs nothing that could be measured; --calibrate "
        "takes --backend cpu or cuda"},
       {o.has("output") && !o.calibrate, {}, "-o goes with --calibrate"},
       {!o.calibrate, {"nccl-tests"}, "{} goes with --calibrate"},
       {!o.ncclTests.empty() && !o.has("hardware"),
        {},
        "--nccl-tests needs --hardware: the description of the GPUs, such as "
        "h100-sxm-cluster, whose links were measured"},
       {!o.ncclTests.empty(),
        {"backend"},
        "{} measures a machine, and --nccl-tests reads what was measured; "
        "leave out one"},
       {!o.has("model") && !o.calibrate,
        {},
        "model is required\nRun with --help for more information."}},
      o);
}

using Names = std::vector<std::string>;

static const Names ofStages = {
    "stage-chunks",       "stage-layers", "stage-schedule", "stage-actions",
    "save-stage-actions", "stage-bound",  "stage-placement"};

std::string tpsp::run::contradictionWithoutStages(const Options &options) {
  return firstOf({{true, ofStages,
                   "{} is of stages, and no axis of the mesh divides layers; "
                   "write one, as in <pp = 4 : stage>"}},
                 options);
}

static std::string whenRunning(const Options &o) {
  // `ofRuns` needs computed values; `ofSteps` needs a step, run or predicted.
  const Names ofRuns = {"verify", "weights", "inputs", "save", "save-all"};
  const Names ofSteps = {"report",
#define PICTURE(field, flag, draw, help) flag,
#include "tpsp/Runtime/Driver/Pictures/Pictures.def"
#undef PICTURE
                         "html",   "verify", "weights",
                         "inputs", "save",   "save-all"};
  const char *whenItRuns = "{} does not go with --emit, which compiles and "
                           "ends; give it when the plan runs";
  bool isForCuda = o.backend == "cuda", isSerial = o.overlap == "off";
  bool asksTime = o.shardReplicated == "time" || o.bucketLayers == "time" ||
                  (o.keepsCalls() && o.balanceAttention == "time");
  return firstOf(
      {{!o.simulate && isSerial && !asksTime,
        {"hardware"},
        "{} goes with --simulate, --overlap on, --attention fused, "
        "--shard-replicated time or --bucket-layers time; without them nothing "
        "asks what things cost"},
       {o.emit.empty(), {"target-cpu"}, "{} goes with --emit"},
       {o.simulate, ofRuns,
        "{} needs a run, and --simulate runs nothing; run the program without "
        "it"},
       {!o.emit.empty(), {"simulate"}, whenItRuns},
       {!o.simulate,
        {"save-stage-actions"},
        "{} writes the order that --simulate finds"},
       {!o.stageActions.empty(),
        {"stage-schedule"},
        "{} is a rule for the order of actions, and --stage-actions gives the "
        "order; leave out one"},
       {o.stagePlacement == "folded" && o.stageChunks == 1,
        {"stage-placement"},
        "{} folded has no fold if a stage has one chunk; give --stage-chunks 2 "
        "or more"},
       {!o.emit.empty(), ofSteps, whenItRuns},
       {o.rematerialize != "none" && !o.grad,
        {"rematerialize"},
        "{} says what the backward pass keeps, and there is none without "
        "--grad"},
       {o.optimizer != "none" && !o.grad,
        {"optimizer"},
        "{} updates parameters by their gradients, which --grad makes"},
       {o.optimizer == "none",
        {"optimizer-axes", "optimizer-settings", "clip", "gather-parameters",
         "loss-scale", "loss-scale-window"},
        "{} says how parameters are updated, and without --optimizer none are"},
       {!o.grad,
        {"reduce-dtype", "reduce-gradients", "sum-dtype", "add-gradients"},
        "{} says how gradients are summed, and there are none without --grad"},
       {!o.grad,
        {"keep-gathered"},
        "{} says what the backward pass keeps, and there is none without "
        "--grad"},
       {!o.inputGradients && !o.grad,
        {"input-gradients"},
        "{} off leaves gradients out, and there are none without --grad"},
       {o.emit.empty() && !isForCuda,
        {"nccl-always"},
        "{} goes with --backend cuda, or with --emit"},
       {o.backend == "trace", ofSteps,
        "{} needs a run, and --backend trace runs nothing; use --backend "
        "cpu"}},
      o);
}

/// Returns the input file that `flag` would overwrite, or "".
static std::string replacedInput(const Options &options,
                                 const std::string &flag,
                                 const std::string &path) {
  namespace fs = std::filesystem;
  std::vector<std::string> inputs = {options.model};
  // --save may overwrite --weights: all of it has been read by then.
  if (flag != "--save")
    inputs.push_back(options.weights);
  for (const std::string &input : options.inputs)
    inputs.push_back(rt::parseInputsFile(input).path);
  std::error_code none; // of a file that is not there, too
  for (const std::string &input : inputs)
    if (!input.empty() && fs::equivalent(path, input, none) &&
        fs::is_regular_file(input, none))
      return input;
  return "";
}

/// Reports an output that would overwrite an input or another output.
static std::string outputInTheWay(const Options &options) {
  namespace fs = std::filesystem;
  const std::pair<std::string, const std::string &> outputs[] = {
      {"--save", options.save},
      {"--emit", options.emit},
      {"--save-all", options.saveAll},
      {"--report", options.report},
#define PICTURE(field, flag, draw, help) {"--" flag, options.field},
#include "tpsp/Runtime/Driver/Pictures/Pictures.def"
#undef PICTURE
      {"-o", options.output},
      {"--html", options.html},
      {"--save-stage-actions", options.saveStageActions},
  };
  std::error_code none; // of a file that is not there, too
  for (const auto &[flag, path] : outputs) {
    if (path.empty())
      continue;
    if (std::string input = replacedInput(options, flag, path); !input.empty())
      return flag + " would replace '" + input +
             "', which is read; give another path";
    for (const auto &[other, otherPath] : outputs)
      if (flag < other && path == otherPath &&
          (!fs::exists(path, none) || fs::is_regular_file(path, none)))
        return flag + " and " + other + " are one file, '" + path +
               "'; give each its own";
  }
  return "";
}

std::string tpsp::run::contradictionIn(const Options &options) {
  if (std::string problem = whenCalibrating(options);
      !problem.empty() || options.calibrate)
    return problem;
  for (const std::string &problem :
       {commonContradictionIn(options), whenRunning(options),
        outputInTheWay(options)})
    if (!problem.empty())
      return problem;
  return "";
}
