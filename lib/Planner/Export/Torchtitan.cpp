// torchtitan's configurations: TOML up to 0.2, Python from 0.3 on. Both say the
// same keys; the tables below are written in either form.
#include "Writers.h"

#include <fmt/format.h>

using namespace tpsp;
using namespace tpsp::planner;

namespace {

struct Key {
  const char *section;
  std::string name;
  /// As TOML has it: a number, "text" or true.
  std::string value;
};

using Keys = std::vector<Key>;

} // namespace

static std::string quoted(const std::string &text) { return '"' + text + '"'; }

static Key number(const char *section, const char *name, int64_t value) {
  return {section, name, std::to_string(value)};
}

static const char *scheduleOf(const Settings &settings) {
  if (settings.schedule == "gpipe")
    return "GPipe";
  return settings.chunks > 1 ? "Interleaved1F1B" : "1F1B";
}

static void addTraining(const ExportedPlan &plan, Keys &keys) {
  const UsualTerms &terms = plan.terms;
  const StepTerms &step = plan.options.step;
  // A pipeline cuts a rank's batch itself.
  int64_t parts = terms.pipeline > 1 ? terms.settings.microBatches : 1;
  keys.push_back(
      number("training", "local_batch_size", terms.localBatch() * parts));
  keys.push_back(number("training", "global_batch_size", terms.batch));
  keys.push_back(number("training", "seq_len", terms.sequence));
  bool isHalf = step.dtype == "bf16";
  keys.push_back({"training", "mixed_precision_param",
                  quoted(isHalf ? "bfloat16" : "float32")});
  keys.push_back({"training", "mixed_precision_reduce", quoted("float32")});
  if (step.optimizer != "none" && step.clip > 0)
    keys.push_back({"training", "max_norm", fmt::format("{}", step.clip)});
}

static void addDegrees(const ExportedPlan &plan, Keys &keys) {
  const UsualTerms &terms = plan.terms;
  for (auto [name, degree] :
       {std::pair("data_parallel_replicate_degree", terms.replicate),
        std::pair("data_parallel_shard_degree", terms.shard),
        std::pair("tensor_parallel_degree", terms.tensor),
        std::pair("context_parallel_degree", terms.context),
        std::pair("expert_parallel_degree", int64_t(1)),
        std::pair("pipeline_parallel_degree", terms.pipeline)})
    keys.push_back(number("parallelism", name, degree));
  if (terms.context > 1)
    keys.push_back({"parallelism", "context_parallel_rotate_method",
                    quoted(terms.ring ? "alltoall" : "allgather")});
  keys.push_back(
      {"parallelism", "fsdp_reshard_after_forward",
       quoted(plan.options.step.keepsGathered ? "never" : "always")});
}

static void addStages(const UsualTerms &terms, Keys &keys) {
  if (terms.pipeline == 1)
    return;
  keys.push_back({"parallelism", "pipeline_parallel_schedule",
                  quoted(scheduleOf(terms.settings))});
  keys.push_back(number("parallelism", "pipeline_parallel_microbatch_size",
                        terms.localBatch()));
  // By default torchtitan counts embedding and head as a layer each.
  for (const char *name : {"pipeline_parallel_first_stage_less_layers",
                           "pipeline_parallel_last_stage_less_layers"})
    keys.push_back(number("parallelism", name, 0));
  if (terms.settings.chunks > 1)
    keys.push_back(number("parallelism", "pipeline_parallel_layers_per_stage",
                          terms.layers / terms.chunks()));
}

static Keys keysOf(const ExportedPlan &plan) {
  Keys keys;
  addTraining(plan, keys);
  addDegrees(plan, keys);
  addStages(plan.terms, keys);
  keys.push_back({"compile", "enable", "true"});
  return keys;
}

std::string tpsp::planner::torchtitanToml(const ExportedPlan &plan) {
  Keys keys = keysOf(plan);
  const std::string &mode = plan.terms.settings.rematerialize;
  keys.push_back({"activation_checkpoint", "mode", quoted(mode)});
  if (mode == "selective")
    keys.push_back(
        {"activation_checkpoint", "selective_ac_option", quoted("op")});
  std::string text, section;
  for (const Key &key : keys) {
    if (section != key.section)
      text += fmt::format("{}[{}]\n", section.empty() ? "" : "\n", key.section);
    section = key.section;
    text += fmt::format("{} = {}\n", key.name, key.value);
  }
  return text;
}

std::string tpsp::planner::torchtitanPython(const ExportedPlan &plan) {
  Keys keys = keysOf(plan);
  keys.push_back({"parallelism", "enable_sequence_parallel",
                  plan.terms.isSequenceParallel ? "true" : "false"});
  // Its graphs of CUDA take no stages.
  if (plan.terms.pipeline > 1)
    keys.push_back({"training", "disable_cuda_graphs", "true"});
  const std::string &mode = plan.terms.settings.rematerialize;
  const char *policy = mode == "full"        ? "FullAC"
                       : mode == "selective" ? "SelectiveAC"
                                             : "";
  std::string text;
  if (*policy)
    text += fmt::format(
        "from torchtitan.distributed.activation_checkpoint import {}\n\n\n",
        policy);
  text += "def with_plan(config):\n"
          "    \"\"\"Gives a Trainer.Config the plan, and returns it.\"\"\"\n";
  for (const Key &key : keys) {
    std::string value = key.value == "true"    ? "True"
                        : key.value == "false" ? "False"
                                               : key.value;
    text +=
        fmt::format("    config.{}.{} = {}\n", key.section, key.name, value);
  }
  text += fmt::format("    config.activation_checkpoint = {}\n"
                      "    return config\n",
                      *policy ? policy + std::string(".Config()") : "None");
  return text;
}
