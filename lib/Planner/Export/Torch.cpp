// Plans of modules: transformers' base_model_tp_plan, and tpsp_torch's.
#include "Writers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace tpsp;
using namespace tpsp::planner;

/// "layers.*.mlp.up_proj" for "model.layers.0.mlp.up_proj.weight": the pattern
/// below the model's own name.
static std::string modulePattern(llvm::StringRef parameter) {
  parameter.consume_front("model.");
  parameter.consume_back(".weight");
  llvm::SmallVector<llvm::StringRef> words;
  parameter.split(words, '.');
  for (llvm::StringRef &word : words)
    if (llvm::all_of(word, llvm::isDigit))
      word = "*";
  return llvm::join(words, ".");
}

/// transformers' style for a module whose weight is divided along `index`. A
/// head, which is not part of the base model, returns whole results.
static const char *styleOf(const TensorFacts &tensor, ClassId index,
                           bool isHead) {
  if (llvm::is_contained(tensor.lookedUp, index))
    return "embedding_rowwise";
  if (llvm::is_contained(tensor.contracted, index))
    return "rowwise";
  return isHead ? "colwise_gather_output" : "colwise";
}

std::string tpsp::planner::transformersPlan(const ExportedPlan &plan) {
  auto isOfBase = [](const TensorFacts &tensor) {
    return llvm::StringRef(tensor.name).starts_with("model.");
  };
  bool hasBase = llvm::any_of(plan.facts.tensors, isOfBase);
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const TensorFacts &tensor : plan.facts.tensors) {
    if (tensor.kind != TensorFacts::Kind::Parameter)
      continue;
    auto dims = subscriptsOf(tensor, plan.candidate);
    for (size_t dim = 0; dim < dims.size() && dims.size() >= 2; ++dim)
      if (!dims[dim].empty())
        json[modulePattern(tensor.name)] =
            styleOf(tensor, tensor.dims[dim], hasBase && !isOfBase(tensor));
  }
  return json.dump(2) + "\n";
}

std::string tpsp::planner::torchPython(const ExportedPlan &plan) {
  std::vector<std::string> sizes, names;
  for (const CandidateAxis &axis : plan.candidate.axes) {
    sizes.push_back(std::to_string(axis.size));
    names.push_back('"' + axis.name + '"');
  }
  // A tuple of one element ends with a comma.
  std::string end = sizes.size() == 1 ? "," : "";
  return fmt::format(
      "import tpsp_torch\n"
      "from torch.distributed.device_mesh import init_device_mesh\n\n"
      "mesh = init_device_mesh(\"cuda\", ({}{}), mesh_dim_names=({}{}))\n"
      "# placed.mlir: the program that tpsp-plan writes with -o.\n"
      "tpsp_torch.apply(module, \"placed.mlir\", mesh, "
      "reshard_after_forward={})\n",
      llvm::join(sizes, ", "), end, llvm::join(names, ", "), end,
      plan.options.step.keepsGathered ? "False" : "True");
}
