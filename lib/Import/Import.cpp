#include "tpsp/Import/Import.h"
#include "tpsp/Abi/InvalidStatus.h"

#include "Architectures.h"
#include "ModelWriter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

using namespace tpsp;
using namespace tpsp::import;
using rt::invalid;
using rt::Status;

std::vector<std::string> tpsp::import::importedArchitectures() {
  std::vector<std::string> names;
  for (const Architecture &one : architectures)
    names.emplace_back(one.name);
  return names;
}

/// Finds the architecture by `model_type`, else by `architectures`. If both are
/// given, they must agree.
static Status findArchitecture(Config &config, const Architecture *&out) {
  std::string type = config.word("model_type", "");
  std::vector<std::string> names = config.words("architectures");
  std::string name = names.empty() ? "" : names.front();
  TPSP_TRY(config.check());
  auto is = [&](const Architecture &one) {
    return type.empty() ? one.name == name : one.modelType == type;
  };
  out = std::find_if(std::begin(architectures), std::end(architectures), is);
  if (out == std::end(architectures))
    return invalid(
        "{} is not known; known are {}",
        type.empty() && name.empty()
            ? "a model without key 'model_type'"
            : fmt::format("model {}",
                          name.empty() ? fmt::format("of model_type '{}'", type)
                                       : name),
        fmt::join(importedArchitectures(), ", "));
  if (!name.empty() && out->name != name)
    return invalid("architectures: says {}, but model_type "
                   "'{}' is {}",
                   name, out->modelType, out->name);
  return {};
}

static Status checkOptions(const ImportOptions &options) {
  constexpr int64_t most = int64_t(1) << 24;
  for (auto [name, value] : {std::pair("--batch", options.batch),
                             std::pair("--sequence", options.sequence)})
    if (value < 1 || value > most)
      return invalid("{} {} is not from 1 to {}", name, value, most);
  if (options.layers < 0)
    return invalid("--layers {} is not from 1 on", options.layers);
  if (options.capacityFactor && !(*options.capacityFactor > 0))
    return invalid("--capacity-factor {} is not above 0; without it nothing "
                   "is dropped",
                   *options.capacityFactor);
  if (options.expertBlocks < 0)
    return invalid("--expert-blocks {} is not from 1 on", options.expertBlocks);
  if (options.expertBlocks > 0 && options.capacityFactor)
    return invalid("--expert-blocks and --capacity-factor exclude each other: "
                   "slots are those of an expert, and rows those of a block");
  for (const char *known : {"f32", "bf16", "f16"})
    if (options.dtype == known)
      return {};
  return invalid("--dtype '{}' is none of f32, bf16 and f16", options.dtype);
}

static Status checkExperts(const ImportOptions &options, const Model &model) {
  if (model.extents.count("x") > 0)
    return {};
  for (auto [name, isGiven] :
       {std::pair("--expert-blocks", options.expertBlocks > 0),
        std::pair("--capacity-factor", options.capacityFactor.has_value())})
    if (isGiven)
      return invalid("{} is about experts, and the model has none; "
                     "leave it out",
                     name);
  return {};
}

/// Leaves dropout out unless it is asked for, and notes that.
static Status chooseDropout(const ImportOptions &options, Model &model) {
  bool hasAny = false;
  for (DropRate *each : {&model.dropout.attention, &model.dropout.embedding,
                         &model.dropout.residual}) {
    if (each->rate == 0)
      continue;
    hasAny = true;
    if (!options.dropout) {
      model.notes.push_back(
          fmt::format("Left out: dropout by {} = {}.", each->key, each->rate));
      each->rate = 0;
    }
  }
  if (options.dropout && !hasAny)
    return invalid("--dropout: the configuration has no rate of dropout above "
                   "0; leave the option out");
  return {};
}

Status tpsp::import::importModel(const std::string &text,
                                 const ImportOptions &options, Imported &out) {
  TPSP_TRY(checkOptions(options));
  Config config;
  TPSP_TRY(Config::parse(text, config));
  TPSP_TRY(config.leaveOut(options.ignoredKeys));
  const Architecture *architecture = nullptr;
  TPSP_TRY(findArchitecture(config, architecture));
  Model model = architecture->read(config);
  TPSP_TRY(config.finish());
  TPSP_TRY(checkExperts(options, model));
  TPSP_TRY(chooseDropout(options, model));
  return writeModel(std::move(model), options, out);
}
