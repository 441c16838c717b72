#include "Options.h"

#include "common/OptionDeclaration.h"

using namespace tpsp;
using namespace tpsp::tool;
using namespace tpsp::checktool;

static constexpr const char *footer = R"(Examples:
  tpsp-check layer.mlir --numbers dump
      hold what four ranks have dumped against what the layer needs
  tpsp-check model.mlir --mesh dp=2,tp=2 --weights model.safetensors
             --inputs ids=ids.npy --numbers dump --names names.json
      on another mesh, with the run's weights and inputs, and its own names
  tpsp-check model.mlir --mesh tp=4 --trace rank0.json rank1.json rank2.json
             rank3.json
      hold the collectives of a step against the ledger
  tpsp-check --against before --numbers after
      two dumps, without a model

Exit status: 0 all that was given is right, 1 something is wrong or cannot be
read, 2 wrong usage.)";

Options::Options() { tool = "tpsp-check"; }

static void declareOptions(CLI::App &app, Options &options) {
  Declaration<Options> declare(app, options);
  // A check has one way to run: on CPUs, one command after another.
  declare.withheld = {"backend",
                      "graph",
                      "nccl-always",
                      "overlap",
                      "overlap-memory",
                      "overlap-chunks",
                      "require-overlap",
                      "bucket-mib",
                      "bucket-layers",
                      "max-dropped",
                      "grad"};
  declareCompiling(app, options, declare);
  declare.group = "What is checked";
#define OPTION(type, field, value, row) declare(&Options::field, row);
#include "CheckOptions.def"
#undef OPTION
  declare.group = "How it runs";
  declareCommon(declare);
}

static std::string contradictionIn(const Options &o) {
  if (std::string problem = commonContradictionIn(o); !problem.empty())
    return problem;
  return firstOf(
      {{!o.has("model") && !o.has("against"),
        {},
        "model is required, or --against with a dump that is right\nRun with "
        "--help for more information."},
       {o.has("model"),
        {"against"},
        "{} compares two dumps, and takes no model; leave one of them out"},
       {!o.has("numbers") && !o.has("selftest") && !o.has("trace"),
        {},
        "nothing is given to check; give the ranks' dump with --numbers, or "
        "recordings of collectives with --trace"},
       {!o.has("numbers"),
        {"against", "names", "layers"},
        "{} goes with --numbers"},
       {!o.has("model"), {"trace"}, "{} needs a model"},
       {!o.has("trace"),
        {"forward", "steps", "hardware"},
        "{} goes with --trace"},
       {o.has("selftest"),
        {"html"},
        "{} is of a check, and --selftest has none"},
       {o.has("html") &&
            (o.html == o.json || o.html == o.model || o.html == o.names),
        {"html"},
        "{} names a file that is read, or written by another option; give "
        "another path"},
       {o.has("layers"),
        {"inputs", "weights", "against"},
        "{} is of the whole model, and --layers takes all arguments of a layer "
        "from the dump; leave one of them out"},
       {o.has("numbers"),
        {"selftest"},
        "{} makes its own dumps; leave --numbers out"}},
      o);
}

int tpsp::checktool::parseOptions(int argc, char **argv, Options &options) {
  return parseCommandLine(
      argc, argv, options,
      {"Holds a hand-written parallel run against what a program needs: which "
       "reduction is missing, doubled or over the wrong ranks.",
       footer, [&](CLI::App &app) { declareOptions(app, options); },
       [&] { return contradictionIn(options); }});
}
