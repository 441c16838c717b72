#include "../AxesJson.h"
#include "Writers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <fmt/format.h>

using namespace tpsp;
using namespace tpsp::planner;
using Json = nlohmann::ordered_json;

//===----------------------------------------------------------------------===//
// Neutral
//===----------------------------------------------------------------------===//

static Json tensorsJson(const Candidate &candidate, const ProgramFacts &facts) {
  Json tensors = Json::array();
  for (const TensorFacts &tensor : facts.tensors) {
    Json dims = Json::array();
    for (auto [dim, axes] : llvm::enumerate(subscriptsOf(tensor, candidate))) {
      Json names = Json::array();
      for (unsigned axis : axes)
        names.push_back(candidate.axes[axis].name);
      dims.push_back({{"index", facts.classes[tensor.dims[dim]].name()},
                      {"extent", tensor.shape[dim]},
                      {"axes", names}});
    }
    const char *kind = tensor.kind == TensorFacts::Kind::Parameter ? "parameter"
                       : tensor.kind == TensorFacts::Kind::Input   ? "input"
                                                                   : "boundary";
    tensors.push_back({{"name", tensor.name},
                       {"kind", kind},
                       {"count", tensor.count},
                       {"dims", dims}});
  }
  return tensors;
}

std::string tpsp::planner::placementJson(const Candidate &candidate,
                                         const ProgramFacts &facts) {
  Json json = {{"format", "tpsp-placement-1"},
               {"program", facts.program},
               {"name", usualName(candidate, facts)},
               {"subscripts", subscriptText(candidate, facts)},
               {"mesh", axesJson(candidate)},
               {"micro_batches", candidate.settings.microBatches},
               {"rematerialize", candidate.settings.rematerialize},
               {"schedule", candidate.settings.schedule},
               {"stage_chunks", candidate.settings.chunks},
               {"tensors", tensorsJson(candidate, facts)}};
  return json.dump(2) + "\n";
}

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

namespace {

struct Writer {
  llvm::StringRef target;
  std::string (*write)(const ExportedPlan &plan);
  /// Whether the text may have comments.
  bool hasComments;
};

constexpr Writer writers[] = {
    {"megatron", megatronFlags, true},
    {"torchtitan", torchtitanPython, true},
    {"torchtitan-0.2", torchtitanToml, true},
    {"hf", transformersPlan, false},
    {"torch", torchPython, true},
};

} // namespace

std::string
tpsp::planner::asComments(const std::vector<std::string> &sentences) {
  std::string text;
  for (const std::string &sentence : sentences)
    text += "# " + sentence + "\n";
  return text;
}

Exported tpsp::planner::exportPlan(const Target &target,
                                   const Candidate &candidate,
                                   const ProgramFacts &facts,
                                   const ExportOptions &options) {
  if (std::string problem = whyNot(target, candidate, facts, options.names);
      !problem.empty())
    return {"", {}, problem};
  ExportedPlan plan = {target, candidate, facts, options,
                       usualTerms(candidate, facts, options.names)};
  std::vector<std::string> said = options.head;
  said.push_back(fmt::format("For {} {}.", target.title, target.version));
  for (const std::string &note : notesOn(target, plan.terms))
    said.push_back(note + ".");
  const Writer *writer = llvm::find_if(
      writers, [&](const Writer &each) { return each.target == target.name; });
  if (writer->hasComments)
    return {asComments(said) + writer->write(plan), {}, ""};
  return {writer->write(plan), said, ""};
}
