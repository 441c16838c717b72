/// Makes a tpsp program from a model's config.json.
///
///   Imported model;
///   TPSP_TRY(importModel(text, options, model));
///   std::puts(model.program.c_str());
///
/// The program's parameters have the names and shapes of a Hugging Face
/// checkpoint. docs/Import.md lists which models are imported and which keys
/// are refused.
#ifndef TPSP_IMPORT_IMPORT_H
#define TPSP_IMPORT_IMPORT_H

#include "tpsp/Abi/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tpsp::import {

/// The last result of a program.
enum class Head { Loss, Logits };

struct ImportOptions {
  int64_t batch = 1;
  /// Positions of a sample.
  int64_t sequence = 0;
  /// The element type of parameters and activations: "f32", "bf16" or "f16".
  std::string dtype = "f32";
  /// How many of the first layers to import; 0: all.
  int64_t layers = 0;
  Head head = Head::Loss;
  /// "tp-sp", "fsdp", ...; empty: nothing is sharded.
  std::string strategy;
  /// "tp=4,dp=2"; empty: two ranks per axis.
  std::string mesh;
  /// Slots of an expert, as a multiple of the slots that tokens' choices fill
  /// on average. Without it experts have no slots, and no token is dropped.
  std::optional<double> capacityFactor;
  /// Without slots: the number of blocks of experts that share rows; 0: one
  /// block for each rank of ep.
  int64_t expertBlocks = 0;
  /// Whether the program drops elements, at the rates of the configuration.
  bool dropout = false;
  /// Keys of the configuration that are ignored.
  std::vector<std::string> ignoredKeys;
};

struct Imported {
  std::string program;
  /// Elements of all parameters; a tied head counts once.
  int64_t parameters = 0;
};

/// INVALID if a program cannot express the configuration, with the key or the
/// option, its value and a way out. INVALID, too, if the text is no
/// configuration or names an unknown model.
rt::Status importModel(const std::string &config, const ImportOptions &options,
                       Imported &out);

/// The known architectures: "LlamaForCausalLM", ...
std::vector<std::string> importedArchitectures();

} // namespace tpsp::import

#endif // TPSP_IMPORT_IMPORT_H
