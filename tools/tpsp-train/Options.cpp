#include "Options.h"

#include "Sample.h"

#include "common/ConfigFile.h"
#include "common/OptionDeclaration.h"

#include <fmt/format.h>

using namespace tpsp;
using namespace tpsp::tool;
using namespace tpsp::train;

static constexpr const char *footer = R"(Examples:
  tpsp-train examples/llama-tiny.mlir --data README.md --steps 200 --out run
      train a byte-level model on a text, on the file's own mesh
  tpsp-train examples/llama-tiny.mlir --data README.md --resume run --steps 400
      go on from the last checkpoint
  tpsp-train examples/llama-tiny.mlir --data train.bin --eval-data val.bin
             --eval-every 100 --mesh dp=2,tp=2 --optimizer-axes dp --clip 1
      another mesh, with the optimizer's state divided along dp
  tpsp-train examples/gpt2-small.mlir --data train.bin --batch 4
             --extent s=256
      other sequences a step, of another length, than the file says
  tpsp-train examples/llama-tiny.mlir --resume run --sample "The mesh"
      continue a text by the model that was trained
  mpirun -n 4 tpsp-train ...
      a process for each rank, on one host or several
  tpsp-train --config run.toml
      options from a file: data = "train.bin", steps = 200

Exit status: 0 done or interrupted, 1 the run failed, 2 wrong usage.)";

Options::Options() {
  tool = "tpsp-train";
  grad = true;
  optimizer = "adamw";
  clip = 1;
}

static void declareOptions(CLI::App &app, Options &options) {
  declareConfigFile(app);
  Declaration<Options> declare(app, options);
  // Training always needs gradients of parameters and never those of inputs.
  declare.withheld = {"grad", "input-gradients", "nccl-always"};
  declareCompiling(app, options, declare);
  declare.group = "How it trains";
#define OPTION(type, field, value, row) declare(&Options::field, row);
#include "TrainOptions.def"
#undef OPTION
  declare.group = "How it runs";
  declareCommon(declare);
}

/// Turns --batch into an extent.
static void resolveBatch(Options &options) {
  if (options.batch > 0)
    options.extents.push_back(
        fmt::format("{}={}", options.microBatchIndex, options.batch));
}

/// The same for --sample.
static std::string contradictionInSample(const Options &o) {
  return firstOf(
      {{!o.has("model"), {}, "model is required, before --sample"},
       {o.has("sample") && o.has("sample-tokens"),
        {},
        "--sample and --sample-tokens both say what the text begins with; give "
        "one"},
       {!o.has("resume") && !o.has("weights"),
        {},
        "--sample needs a trained model: --resume RUN, or --weights "
        "FILE.safetensors"},
       {o.has("resume"),
        {"weights"},
        "{} and --resume both say what the parameters are; give one"},
       {o.backend == "trace",
        {},
        "--backend trace computes nothing to draw tokens from"},
       {true,
        {"data", "out", "eval-data", "plot", "save-every", "steps",
         "separator"},
        "{} is about training, and --sample does not train"}},
      o);
}

/// Returns a sentence about options that contradict each other in training, or
/// an empty string.
static std::string contradictionIn(const Options &o) {
  if (std::string problem = commonContradictionIn(o); !problem.empty())
    return problem;
  if (samples(o))
    return contradictionInSample(o);
  return firstOf(
      {{!o.has("model"),
        {},
        "model is required, before --data\nRun with --help for more "
        "information."},
       {true,
        {"sample-count", "temperature"},
        "{} goes with --sample or --sample-tokens"},
       {!o.has("data"),
        {},
        "--data is required: the tokens or samples to train on "
        "(docs/Training.md)"},
       {o.optimizer == "none",
        {},
        "--optimizer none trains nothing; tpsp-run computes gradients alone"},
       {o.backend == "trace",
        {},
        "--backend trace runs nothing; tpsp-run prints its calls"},
       {!o.has("eval-data"),
        {"eval-every", "eval-batches", "eval-plan"},
        "{} goes with --eval-data"},
       {o.isPlan && o.has("eval-data") && !o.has("eval-plan"),
        {},
        "--eval-data with a compiled plan needs --eval-plan: compile the model "
        "with --dropout off and without --grad"},
       {!o.isPlan, {"eval-plan"}, "{} goes with a compiled plan"},
       {!o.has("out") && !o.has("resume"),
        {"save-every", "keep"},
        "{} is about checkpoints, which --out writes"},
       {o.lowRate > o.learningRate,
        {"min-lr"},
        "{} is above --lr, and the learning rate falls to it"},
       {o.has("resume"),
        {"weights"},
        "{} and --resume both say what the parameters begin as; give one"}},
      o);
}

int tpsp::train::parseOptions(int argc, char **argv, Options &options,
                              std::string *said) {
  return parseCommandLine(
      argc, argv, options,
      {"Trains a sharded einsum program on files of tokens, one thread of this "
       "process per rank, or one process under mpirun.",
       footer, [&](CLI::App &app) { declareOptions(app, options); },
       [&] {
         resolveBatch(options);
         return contradictionIn(options);
       }},
      said);
}

Agreed tpsp::train::agreedOptions(const Options &options) {
  Agreed out = tool::agreedOptions(options);
  AgreedRows<Options> collect(options, out);
#define OPTION(type, field, value, row) collect(&Options::field, row);
#include "TrainOptions.def"
#undef OPTION
  return out;
}
