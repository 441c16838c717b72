#include "Decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

using namespace tpsp::import;

/// Keys about positions of tokens, about caches, and for other readers of the
/// configuration.
static const std::vector<std::string> harmlessKeys = {
    "pretraining_tp",  "max_position_embeddings", "auto_map",
    "tokenizer_class", "_attn_implementation",    "cache_implementation",
    "is_llama_config"};

Model tpsp::import::readDecoder(Config &config, const DecoderForm &form) {
  config.harmless(commonKeys());
  config.harmless(harmlessKeys);
  config.only("is_encoder_decoder", false, "an encoder");
  config.only("use_mrope", false, "a rotation by several positions");
  config.only("rope_interleaved", false, "a rotation of neighbours");
  Model model;
  model.architecture = form.architecture;
  model.dropout.attention = config.dropRate("attention_dropout", 0);
  int64_t width = config.size("hidden_size");
  int64_t heads = config.size("num_attention_heads");
  int64_t groups =
      config.size("num_key_value_heads",
                  form.keyValueHeads > 0 ? form.keyValueHeads : heads);
  if (heads % groups != 0)
    config.refuse("num_key_value_heads",
                  fmt::format("is {}, which does not divide the {} of "
                              "num_attention_heads",
                              groups, heads));
  int64_t features = config.size("head_dim", form.headSize > 0 ? form.headSize
                                                               : width / heads);
  if (!config.has("head_dim") && form.headSize == 0 && width % heads != 0)
    config.refuse("hidden_size",
                  fmt::format("is {}, which the {} of num_attention_heads do "
                              "not divide; head_dim may say how many features "
                              "a head has",
                              width, heads));
  model.extents = {{"d", width},
                   {"g", groups},
                   {"r", heads / groups},
                   {"k", features},
                   {"q", heads * features},
                   {"kv", groups * features},
                   {"v", config.size("vocab_size")}};
  model.embedding = "model.embed_tokens.weight";
  model.layerPrefix = "model.layers.";
  model.finalNorm = readRmsNorm(config, "model.norm");
  if (!config.flag("tie_word_embeddings", form.isTied))
    model.head = "lm_head.weight";
  return model;
}

Norm tpsp::import::readRmsNorm(Config &config, const std::string &module) {
  return {module, config.notNegative("rms_norm_eps", 1e-6)};
}

void tpsp::import::readNoBiases(Config &config) {
  config.only("attention_bias", false, "a bias of attention");
  config.only("mlp_bias", false, "a bias of the MLP");
}

Attention tpsp::import::readAttention(Config &config, const Model &model,
                                      const DecoderForm &form) {
  auto linear = [](const char *module, bool hasBias) {
    return Linear{std::string("self_attn.") + module, hasBias};
  };
  Attention attention;
  attention.query = linear("q_proj", form.hasQueryBias);
  attention.key = linear("k_proj", form.hasQueryBias);
  attention.value = linear("v_proj", form.hasQueryBias);
  attention.output = linear("o_proj", form.hasOutputBias);
  double magnitude = 1;
  int64_t features = model.extent("k");
  attention.rope = readRope(config, form.theta, features, magnitude);
  attention.scale = magnitude * magnitude / std::sqrt(double(features));
  return attention;
}

std::string tpsp::import::readActivation(Config &config, const std::string &key,
                                         const std::string &otherwise) {
  static const std::map<std::string, std::string> operations = {
      {"silu", "silu"},
      {"swish", "silu"},
      {"gelu", "gelu_erf"},
      {"gelu_new", "gelu"},
      {"gelu_pytorch_tanh", "gelu"},
      {"relu", "relu"}};
  std::vector<std::string> known;
  for (const auto &entry : operations)
    known.push_back(entry.first);
  auto found = operations.find(config.oneOf(key, otherwise, known));
  return found == operations.end() ? "silu" : found->second;
}

Mlp tpsp::import::readGatedMlp(Config &config, Model &model, bool hasBias) {
  model.extents["e"] = config.size("intermediate_size");
  return {Linear{"mlp.gate_proj", hasBias}, Linear{"mlp.up_proj", hasBias},
          Linear{"mlp.down_proj", hasBias},
          readActivation(config, "hidden_act", "silu")};
}

Experts tpsp::import::readExperts(Config &config, Model &model, int64_t count,
                                  const std::string &module,
                                  const std::vector<std::string> &words,
                                  const std::string &activation) {
  int64_t chosen = config.size("num_experts_per_tok", 2);
  if (chosen > count)
    config.refuse("num_experts_per_tok",
                  fmt::format("is {}, of {} experts", chosen, count));
  model.extents["x"] = count;
  model.extents["j"] = chosen;
  auto expert = [&](const std::string &word) {
    Linear linear{module + ".experts.{x}." + word};
    linear.name = word;
    return linear;
  };
  Experts experts;
  experts.router = {module + ".gate"};
  experts.router.name = "router";
  experts.gate = expert(words[0]);
  experts.up = expert(words[1]);
  experts.down = expert(words[2]);
  experts.activation = activation;
  return experts;
}

double tpsp::import::readBalanceFactor(Config &config) {
  double factor = config.number("router_aux_loss_coef", 0.001);
  return config.flag("output_router_logits", false) ? factor : 0;
}

/// For each layer that `layer_types` names, whether it slides.
static std::vector<bool> readLayerTypes(Config &config, int64_t layers) {
  std::vector<bool> slides;
  for (const std::string &type : config.words("layer_types")) {
    slides.push_back(type == "sliding_attention");
    if (!slides.back() && type != "full_attention")
      config.refuse("layer_types", "has '" + type +
                                       "', of which full_attention and "
                                       "sliding_attention are known");
  }
  if (int64_t(slides.size()) < layers)
    config.refuse("layer_types",
                  fmt::format("has {} layers, and num_hidden_layers is {}",
                              slides.size(), layers));
  slides.resize(layers);
  return slides;
}

std::vector<int64_t> tpsp::import::readWindows(Config &config, Sliding sliding,
                                               bool isUsed) {
  int64_t layers = config.layers("num_hidden_layers");
  int64_t window = config.count("sliding_window", 0);
  int64_t first = config.count("max_window_layers", 28);
  std::vector<bool> slides;
  if (config.has("layer_types"))
    slides = readLayerTypes(config, layers);
  for (int64_t i = int64_t(slides.size()); i < layers; ++i)
    slides.push_back(
        sliding == Sliding::All ||
        (sliding == Sliding::EveryOther ? i % 2 == 0 : i >= first));
  std::vector<int64_t> windows;
  for (bool one : slides)
    windows.push_back(one && isUsed ? window : 0);
  return windows;
}

std::vector<Block> tpsp::import::decoderBlocks(Config &config,
                                               Attention attention, Part part) {
  return {{readRmsNorm(config, "input_layernorm"), std::move(attention)},
          {readRmsNorm(config, "post_attention_layernorm"), std::move(part)}};
}

static LayerKind withWindow(LayerKind kind, int64_t window) {
  for (Block &block : kind.blocks)
    if (auto *attention = std::get_if<Attention>(&block.part))
      attention->window = window;
  return kind;
}

void tpsp::import::addLayers(Config &config, Model &model, LayerKind kind,
                             const std::vector<int64_t> &windows) {
  size_t layers = config.layers("num_hidden_layers");
  std::vector<int64_t> sizes = windows;
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  if (sizes.size() < 2) {
    model.kinds = {withWindow(kind, sizes.empty() ? 0 : sizes.front())};
    model.layers.assign(layers, 0);
    return;
  }
  // Each layer has the one window, or none.
  LayerKind sliding = withWindow(kind, sizes.back());
  sliding.function = "sliding_" + kind.function;
  model.kinds = {std::move(kind), std::move(sliding)};
  for (int64_t window : windows)
    model.layers.push_back(window == 0 ? 0 : 1);
}

//===----------------------------------------------------------------------===//
// Rotations
//===----------------------------------------------------------------------===//

/// The number of turns that pair `pair` of `features` / 2 pairs makes over
/// `positions`.
static double turnsOf(double pair, double theta, double positions,
                      int64_t features) {
  return positions / (2 * std::acos(-1.0)) *
         std::pow(theta, -2 * pair / double(features));
}

/// The pair that makes `turns` turns.
static double pairOf(double turns, double theta, double positions,
                     int64_t features) {
  return double(features) *
         std::log(positions / (turns * 2 * std::acos(-1.0))) /
         (2 * std::log(theta));
}

static double yarnMagnitude(double stretch, double factor) {
  return stretch <= 1 ? 1 : 0.1 * factor * std::log(stretch) + 1;
}

static void readYarn(Config &scaling, int64_t features, Rope &rope,
                     double &magnitude) {
  rope.stretch = scaling.positive("factor");
  rope.trained = scaling.positive("original_max_position_embeddings");
  double fast = scaling.positive("beta_fast", 32);
  double slow = scaling.positive("beta_slow", 1);
  bool isTruncated = scaling.flag("truncate", true);
  double low = pairOf(fast, rope.theta, rope.trained, features);
  double high = pairOf(slow, rope.theta, rope.trained, features);
  if (isTruncated) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, double(features - 1));
  if (low == high)
    high += 0.001;
  rope.fastTurns = turnsOf(low, rope.theta, rope.trained, features);
  rope.slowTurns = turnsOf(high, rope.theta, rope.trained, features);
  rope.isLogarithmic = true;
  if (fast < slow)
    scaling.refuse(
        "beta_fast",
        fmt::format("is {}, which is below the {} of beta_slow", fast, slow));
  if (!(rope.slowTurns < rope.fastTurns))
    scaling.refuse("original_max_position_embeddings",
                   fmt::format("is {}, in which no pair of {} features makes "
                               "from {} to {} turns",
                               rope.trained, features, slow, fast));
  double all = scaling.number("mscale_all_dim", 0);
  double one = scaling.number("mscale", 0);
  magnitude = yarnMagnitude(rope.stretch, 1);
  if (all != 0 && one != 0)
    magnitude =
        yarnMagnitude(rope.stretch, one) / yarnMagnitude(rope.stretch, all);
  magnitude = scaling.positive("attention_factor", magnitude);
}

static void readScaling(Config &scaling, const std::string &key,
                        int64_t features, Rope &rope, double &magnitude) {
  std::string type =
      scaling.oneOf(key, "default", {"default", "linear", "llama3", "yarn"});
  if (type == "linear")
    rope.stretch = scaling.positive("factor");
  if (type == "yarn")
    readYarn(scaling, features, rope, magnitude);
  if (type != "llama3")
    return;
  rope.stretch = scaling.positive("factor");
  rope.trained = scaling.positive("original_max_position_embeddings");
  rope.slowTurns = scaling.number("low_freq_factor");
  rope.fastTurns = scaling.number("high_freq_factor");
  if (rope.slowTurns >= rope.fastTurns || rope.slowTurns <= 0)
    scaling.refuse("low_freq_factor",
                   fmt::format("is {}, which is not below the {} of "
                               "high_freq_factor and above 0",
                               rope.slowTurns, rope.fastTurns));
}

Rope tpsp::import::readRope(Config &config, double theta, int64_t features,
                            double &magnitude) {
  Config &parameters = config.object("rope_parameters");
  Config &older = config.object("rope_scaling");
  Rope rope;
  rope.theta =
      parameters.number("rope_theta", config.number("rope_theta", theta));
  if (parameters.has("rope_theta") && config.has("rope_theta") &&
      config.number("rope_theta") != rope.theta)
    config.refuse("rope_theta",
                  fmt::format("is {}, but rope_parameters says {}",
                              config.number("rope_theta"), rope.theta));
  if (rope.theta <= 1)
    config.refuse("rope_theta",
                  fmt::format("is {}; it is larger than 1", rope.theta));
  for (Config *from : {&config, &parameters, &older})
    from->only("partial_rotary_factor", 1.0, "a rotation of a part of a head");
  if (config.has("rope_parameters") && config.has("rope_scaling") &&
      parameters.has("factor") != older.has("factor"))
    config.refuse("rope_scaling", "and rope_parameters say different things");
  Config &scaling = config.has("rope_parameters") ? parameters : older;
  // A configuration that has both keys has the same value in both.
  older.harmless({"rope_theta"});
  readScaling(scaling, scaling.has("rope_type") ? "rope_type" : "type",
              features, rope, magnitude);
  if (std::string type = scaling.word("rope_type", "");
      !type.empty() && scaling.word("type", type) != type)
    scaling.refuse("type", "is '" + scaling.word("type", "") +
                               "', but rope_type is '" + type + "'");
  if (features % 2 != 0)
    config.refuse("head_dim",
                  fmt::format("is {}; rope turns pairs of features", features));
  return rope;
}
