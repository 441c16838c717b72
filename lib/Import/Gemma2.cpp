#include "Architectures.h"
#include "Decoder.h"

#include <cmath>

using namespace tpsp::import;

/// Gains are 1 + the parameter. Norms stand before and after each part. Scores
/// and logits are capped. Every other layer's attention has a window.
Model tpsp::import::readGemma2(Config &config) {
  DecoderForm form{"Gemma2ForCausalLM"};
  form.isTied = true;
  form.headSize = 256;
  form.keyValueHeads = 4;
  form.hasQueryBias = form.hasOutputBias = config.flag("attention_bias", false);
  Model model = readDecoder(config, form);
  std::vector<int64_t> windows = readWindows(config, Sliding::EveryOther);
  config.only("use_bidirectional_attention", false, "attention both ways");
  config.harmless({"hidden_act", "sliding_window_size"});
  auto norm = [&](const char *module) {
    Norm one = readRmsNorm(config, module);
    one.kind = Norm::Kind::RmsPlusOne;
    return one;
  };
  model.finalNorm = norm("model.norm");
  model.embeddingScale = std::sqrt(double(model.extent("d")));
  model.logitsSoftCap = config.positive("final_logit_softcapping", 0);
  Attention attention = readAttention(config, model, form);
  attention.scale =
      1 / std::sqrt(config.positive("query_pre_attn_scalar", 256));
  attention.softCap = config.positive("attn_logit_softcapping", 0);
  Mlp mlp = readGatedMlp(config, model);
  mlp.activation =
      readActivation(config, "hidden_activation", "gelu_pytorch_tanh");
  addLayers(
      config, model,
      {"layer",
       {{norm("input_layernorm"), attention, norm("post_attention_layernorm")},
        {norm("pre_feedforward_layernorm"), mlp,
         norm("post_feedforward_layernorm")}}},
      windows);
  return model;
}
