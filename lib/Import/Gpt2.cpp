#include "Architectures.h"
#include "Decoder.h"

#include <fmt/format.h>

#include <cmath>

using namespace tpsp::import;

/// Keys that change nothing here: they belong to other heads of the model.
static const std::vector<std::string> harmlessKeys = {"n_ctx",
                                                      "gradient_checkpointing",
                                                      "task_specific_params",
                                                      "summary_type",
                                                      "summary_use_proj",
                                                      "summary_activation",
                                                      "summary_proj_to_labels",
                                                      "summary_first_dropout",
                                                      "reorder_and_upcast_attn",
                                                      "_num_labels",
                                                      "output_past"};

static Norm layerNorm(Config &config, const std::string &module) {
  return {module, config.notNegative("layer_norm_epsilon", 1e-5),
          Norm::Kind::Layer};
}

static Attention readFusedAttention(Config &config, const Model &model) {
  config.only("scale_attn_by_inverse_layer_idx", false,
              "a scale that differs between layers");
  config.only("add_cross_attention", false, "cross attention");
  int64_t width = model.extent("d");
  auto third = [&](int64_t which, const char *name) {
    return Linear{"attn.c_attn",       true, true, which * width,
                  (which + 1) * width, name};
  };
  Attention attention;
  attention.query = third(0, "q");
  attention.key = third(1, "k");
  attention.value = third(2, "v");
  attention.output = {"attn.c_proj", true, true, 0, 0, "attn_proj"};
  if (config.flag("scale_attn_weights", true))
    attention.scale = 1 / std::sqrt(double(model.extent("k")));
  return attention;
}

Model tpsp::import::readGpt2(Config &config) {
  config.harmless(commonKeys());
  config.harmless(harmlessKeys);
  Model model;
  model.architecture = "GPT2LMHeadModel";
  int64_t width = config.size("n_embd"), heads = config.size("n_head");
  if (width % heads != 0)
    config.refuse("n_embd", fmt::format("is {}, which the {} of n_head do not "
                                        "divide",
                                        width, heads));
  model.extents = {{"d", width},
                   {"g", heads},
                   {"r", 1},
                   {"k", width / heads},
                   {"q", width},
                   {"kv", width},
                   {"v", config.size("vocab_size")},
                   {"p", config.size("n_positions")},
                   {"e", config.size("n_inner", 4 * width)}};
  model.embedding = "transformer.wte.weight";
  model.positions = "transformer.wpe.weight";
  model.layerPrefix = "transformer.h.";
  model.finalNorm = layerNorm(config, "transformer.ln_f");
  if (!config.flag("tie_word_embeddings", true))
    model.head = "lm_head.weight";
  model.dropout = {config.dropRate("embd_pdrop", 0.1),
                   config.dropRate("attn_pdrop", 0.1),
                   config.dropRate("resid_pdrop", 0.1)};
  Attention attention = readFusedAttention(config, model);
  Mlp mlp{std::nullopt, Linear{"mlp.c_fc", true, true},
          Linear{"mlp.c_proj", true, true},
          readActivation(config, "activation_function", "gelu_new")};
  model.kinds = {{"layer",
                  {{layerNorm(config, "ln_1"), attention},
                   {layerNorm(config, "ln_2"), mlp}}}};
  model.layers.assign(config.layers("n_layer"), 0);
  return model;
}
