/// The known architectures. Each has a function, in a file of its own, that
/// reads a configuration into a Model. The function refuses keys that a Model
/// cannot express (Config::refuse). An architecture is a file, a row here and a
/// row of docs/Import.md. Its index letters are in Strategy.cpp.
#ifndef TPSP_IMPORT_ARCHITECTURES_H
#define TPSP_IMPORT_ARCHITECTURES_H

#include "Config.h"
#include "Model.h"

namespace tpsp::import {

Model readLlama(Config &config);
Model readMistral(Config &config);
Model readQwen2(Config &config);
Model readQwen3(Config &config);
Model readPhi3(Config &config);
Model readGpt2(Config &config);
Model readGemma2(Config &config);
Model readMixtral(Config &config);
Model readQwen3Moe(Config &config);
Model readDeepSeekV2(Config &config);
Model readDeepSeekV3(Config &config);

struct Architecture {
  /// `model_type` and `architectures` of a configuration.
  const char *modelType, *name;
  Model (*read)(Config &config);
};

inline constexpr Architecture architectures[] = {
    {"llama", "LlamaForCausalLM", readLlama},
    {"mistral", "MistralForCausalLM", readMistral},
    {"qwen2", "Qwen2ForCausalLM", readQwen2},
    {"qwen3", "Qwen3ForCausalLM", readQwen3},
    {"phi3", "Phi3ForCausalLM", readPhi3},
    {"gpt2", "GPT2LMHeadModel", readGpt2},
    {"gemma2", "Gemma2ForCausalLM", readGemma2},
    {"mixtral", "MixtralForCausalLM", readMixtral},
    {"qwen3_moe", "Qwen3MoeForCausalLM", readQwen3Moe},
    {"deepseek_v2", "DeepseekV2ForCausalLM", readDeepSeekV2},
    {"deepseek_v3", "DeepseekV3ForCausalLM", readDeepSeekV3},
};

} // namespace tpsp::import

#endif // TPSP_IMPORT_ARCHITECTURES_H
