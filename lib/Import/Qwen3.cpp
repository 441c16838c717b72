#include "Architectures.h"
#include "Decoder.h"

using namespace tpsp::import;

/// Queries and keys are normed over the features of a head.
static Attention readNormedAttention(Config &config, const Model &model,
                                     const DecoderForm &form) {
  Attention attention = readAttention(config, model, form);
  attention.queryNorm = readRmsNorm(config, "self_attn.q_norm");
  attention.keyNorm = readRmsNorm(config, "self_attn.k_norm");
  return attention;
}

static DecoderForm formOf(Config &config, const char *architecture) {
  DecoderForm form{architecture};
  form.hasQueryBias = form.hasOutputBias = config.flag("attention_bias", false);
  return form;
}

Model tpsp::import::readQwen3(Config &config) {
  DecoderForm form = formOf(config, "Qwen3ForCausalLM");
  form.headSize = 128;
  Model model = readDecoder(config, form);
  std::vector<int64_t> windows =
      readWindows(config, Sliding::FromKeyedLayer,
                  config.flag("use_sliding_window", false));
  Mlp mlp = readGatedMlp(config, model);
  Attention attention = readNormedAttention(config, model, form);
  addLayers(config, model, {"layer", decoderBlocks(config, attention, mlp)},
            windows);
  return model;
}

/// Some layers may have an MLP instead of experts.
static void addMixedLayers(Config &config, Model &model, const Block &attention,
                           const Block &experts, const Block &mlp) {
  model.kinds = {{"layer", {attention, experts}},
                 {"dense_layer", {attention, mlp}}};
  int64_t count = config.layers("num_hidden_layers");
  int64_t every = config.size("decoder_sparse_step", 1);
  for (int64_t i = 0; i < count; ++i)
    model.layers.push_back((i + 1) % every == 0 ? 0 : 1);
  for (int64_t dense : config.counts("mlp_only_layers"))
    if (dense < count)
      model.layers[dense] = 1;
}

/// Reads the number of experts under its old or its new name.
static int64_t readExpertCount(Config &config) {
  const char *key = "num_experts", *newer = "num_local_experts";
  if (!config.has(newer))
    return config.size(key);
  int64_t count = config.size(newer);
  if (config.size(key, count) != count)
    config.refuse(key, "and num_local_experts differ");
  return count;
}

Model tpsp::import::readQwen3Moe(Config &config) {
  DecoderForm form = formOf(config, "Qwen3MoeForCausalLM");
  form.keyValueHeads = 4;
  Model model = readDecoder(config, form);
  std::vector<int64_t> windows = readWindows(
      config, Sliding::All, config.flag("use_sliding_window", false));
  model.balanceFactor = readBalanceFactor(config);
  Mlp mlp = readGatedMlp(config, model);
  Experts experts =
      readExperts(config, model, readExpertCount(config), "mlp",
                  {"gate_proj", "up_proj", "down_proj"}, mlp.activation);
  model.extents["f"] = config.size("moe_intermediate_size");
  if (!config.flag("norm_topk_prob", false))
    experts.score = Score::Softmax;
  Attention attention = readNormedAttention(config, model, form);
  attention.window = windows.front();
  std::vector<Block> blocks = decoderBlocks(config, attention, experts);
  addMixedLayers(config, model, blocks[0], blocks[1], {blocks[1].before, mlp});
  return model;
}
