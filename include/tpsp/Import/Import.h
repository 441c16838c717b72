/// From a model's config.json to a tpsp program.
///
///   Imported model;
///   TPSP_TRY(importModel(text, options, model));
///   std::puts(model.program.c_str());
///
/// The program's parameters are called as a Hugging Face checkpoint calls them,
/// in its shapes; docs/Import.md lists what is imported and what is refused.
#ifndef TPSP_IMPORT_IMPORT_H
#define TPSP_IMPORT_IMPORT_H

#include "tpsp/Abi/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tpsp::import {

/// What a program ends with.
enum class Head { Loss, Logits };

struct ImportOptions {
  int64_t batch = 1;
  /// Positions of a sample.
  int64_t sequence = 0;
  /// What is stored: "f32", "bf16" or "f16".
  std::string dtype = "f32";
  /// The first so many layers; 0: all.
  int64_t layers = 0;
  Head head = Head::Loss;
  /// "tp-sp", "fsdp", ...; empty: nothing is divided.
  std::string strategy;
  /// "tp=4,dp=2"; empty: two ranks an axis.
  std::string mesh;
  /// Slots of an expert, as a multiple of what tokens' choices fill on average;
  /// 0: experts have no slots, and no token is dropped.
  std::optional<double> capacityFactor;
  /// Without slots: blocks of experts that share rows; 0: one for each rank of
  /// ep.
  int64_t expertBlocks = 0;
  /// Keys of the configuration that are left out of account.
  std::vector<std::string> ignoredKeys;
};

struct Imported {
  std::string program;
  /// Elements of all parameters; a tied head's once.
  int64_t parameters = 0;
};

/// INVALID, with the key or the option, its value and a way out, if a program
/// cannot say what the configuration does. So it is if that is none, or is of a
/// model that is not known.
rt::Status importModel(const std::string &config, const ImportOptions &options,
                       Imported &out);

/// The architectures that are known: "LlamaForCausalLM", ...
std::vector<std::string> importedArchitectures();

} // namespace tpsp::import

#endif // TPSP_IMPORT_IMPORT_H
