#include "Options.h"

#include "common/OptionDeclaration.h"

#include "tpsp/Planner/Target.h"

#include <cmath>
#include <filesystem>

using namespace tpsp;
using namespace tpsp::tool;
using namespace tpsp::plantool;

static constexpr const char *footer = R"(Examples:
  tpsp-plan model.mlir --hardware h100-sxm --devices 8
      which mesh and subscripts make the step of an unplaced program fastest
  tpsp-plan model.mlir --hardware h100-sxm --devices 8 --optimizer adamw
            --memory 75GiB -o placed.mlir
      likewise for a step with its update; the program, placed, into a file
  tpsp-plan model.mlir --hardware h100-sxm --devices 8 --html plans.html
      the same as a page for browsers, with the best plans' steps
  tpsp-plan model.mlir --hardware h100-sxm --devices 8 --for megatron
            --export megatron
      the best plan that Megatron-LM can express, as its flags
  tpsp-plan examples/llama-tiny.mlir --forget-placements --devices 2
      what the planner would have chosen
  tpsp-plan model.mlir --hardware h100-sxm --devices 8 --pin b@dp=2
      the best plan with an axis of two, called dp, on the batch

Exit status: 0 done, 1 no plan fits or the program is wrong, 2 wrong usage.)";

Options::Options() {
  tool = "tpsp-plan";
  grad = true;
  overlap = "on";
}

static std::vector<std::string> exportWords() {
  std::vector<std::string> words = planner::targetWords();
  words.emplace_back("json");
  return words;
}

static void declareOptions(CLI::App &app, Options &options) {
  Declaration<Options> declare(app, options);
  // The planner decides these, or only runs have them.
  declare.withheld = {"grad",           "mesh",          "optimizer-axes",
                      "stage-layers",   "stage-bound",   "stage-chunks",
                      "stage-schedule", "stage-actions", "stage-placement",
                      "require-overlap"};
  declareCompiling(app, options, declare, "The model, a .mlir file");
  // It has flags of its own for these.
  declare.withheld.clear();
  declare.group = "What is planned";
#define OPTION(type, field, value, row) declare(&Options::field, row);
#include "PlanOptions.def"
#undef OPTION
}

/// Parses a size such as "75GiB"; returns false if it is malformed.
static bool parseBytes(const std::string &text, int64_t &bytes) {
  size_t end = 0;
  double number = 0;
  try {
    number = std::stod(text, &end);
  } catch (const std::exception &) {
    return false;
  }
  const std::pair<const char *, double> units[] = {{"B", 1},
                                                   {"KiB", 1024.0},
                                                   {"MiB", std::pow(1024, 2)},
                                                   {"GiB", std::pow(1024, 3)},
                                                   {"TiB", std::pow(1024, 4)},
                                                   {"KB", 1e3},
                                                   {"MB", 1e6},
                                                   {"GB", 1e9},
                                                   {"TB", 1e12}};
  for (auto [unit, factor] : units)
    if (text.substr(end) == unit && number > 0 && number * factor < 9e18) {
      bytes = int64_t(number * factor);
      return true;
    }
  return false;
}

/// Joins what CLI11 split at the commas of subscripts. A comma within
/// subscripts has a space after it; a comma between two plans has none.
static std::vector<std::string>
joinSubscripts(const std::vector<std::string> &parts) {
  std::vector<std::string> plans;
  for (const std::string &part : parts)
    if (!plans.empty() && part.rfind(' ', 0) == 0)
      plans.back() += "," + part;
    else
      plans.push_back(part);
  return plans;
}

static std::string problemIn(Options &o) {
  o.compared = joinSubscripts(o.compared);
  if (!o.has("model"))
    return "model is required\nRun with --help for more information.";
  if (o.isPlan)
    return "'" + o.model +
           "' is compiled, and its placements are decided; give the model";
  if (!o.memory.empty() && !parseBytes(o.memory, o.memoryBytes))
    return "--memory: '" + o.memory +
           "' is no size; write a number and a unit, as in 75GiB";
  if (!o.compared.empty() && o.compared.size() != 2)
    return "--compare takes two plans, as in 1,2; " +
           std::to_string(o.compared.size()) + " given";
  if (std::string problem = commonContradictionIn(o); !problem.empty())
    return problem;
  return firstOf(
      {{o.html == o.model || o.html == o.output || o.html == o.pareto,
        {"html"},
        "{} names a file that is read, or written by another option; give "
        "another path"},
       {o.pareto == o.model || o.pareto == o.output,
        {"pareto"},
        "{} names a file that is read, or written by another option; give "
        "another path"},
       {!o.along.empty(),
        {"json", "html", "pareto", "export", "compare", "output", "measured"},
        "{} is about the plans of one extent, and --along prints the best of "
        "several; give one of the two"},
       {o.printsProgram(),
        {"json", "export", "compare"},
        "{} and -o - both say what is printed; give a path"},
       {!o.target.empty() && !o.exported.empty() && o.exported != "json" &&
            o.exported != o.target,
        {"export"},
        "{} and --for name two systems; give one of them"},
       {o.json && !o.exported.empty(),
        {"json"},
        "{} and --export both say what is printed; give one"},
       {o.forward && o.optimizer != "none",
        {"optimizer"},
        "{} updates parameters by their gradients, which --forward leaves out"},
       {o.optimizer == "none",
        {"optimizer-settings", "clip", "gather-parameters", "loss-scale",
         "loss-scale-window"},
        "{} says how parameters are updated, and without --optimizer none are"},
       {o.forward,
        {"rematerialize", "reduce-dtype", "reduce-gradients", "sum-dtype",
         "add-gradients", "keep-gathered", "input-gradients"},
        "{} is about a backward pass, which --forward leaves out"}},
      o);
}

int tpsp::plantool::parseOptions(int argc, char **argv, Options &options) {
  return parseCommandLine(
      argc, argv, options,
      {"Finds the mesh and the subscripts that make a sharded einsum program "
       "fastest on a described machine, and says why.",
       footer, [&](CLI::App &app) { declareOptions(app, options); },
       [&] {
         options.grad = !options.forward;
         return problemIn(options);
       }});
}
