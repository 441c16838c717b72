#include "Architectures.h"
#include "Decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

using namespace tpsp::import;

/// The most blocks of a head: each is an operation.
static constexpr int64_t mostBlocks = 32;

/// Reads sizes of heads, in blocks as large as the features that have
/// positions.
static void readHeads(Config &config, Model &model) {
  int64_t plain = config.size("qk_nope_head_dim");
  int64_t turned = config.size("qk_rope_head_dim");
  int64_t value = config.size("v_head_dim");
  for (auto [key, size] :
       {std::pair("qk_nope_head_dim", plain), std::pair("v_head_dim", value)})
    if (size % turned != 0 || size / turned > mostBlocks)
      config.refuse(key, fmt::format("is {}, which is no multiple of the {} of "
                                     "qk_rope_head_dim up to {}, and slices of "
                                     "unequal parts are not there yet",
                                     size, turned, mostBlocks * turned));
  int64_t heads = config.size("num_attention_heads");
  if (config.size("num_key_value_heads", heads) != heads)
    config.refuse("num_key_value_heads",
                  fmt::format("is not the {} of num_attention_heads", heads));
  model.extents.insert({{"u", turned},
                        {"m", turned / 2},
                        {"n", 2},
                        {"kb", plain / turned + 1},
                        {"lb", (plain + value) / turned},
                        {"vb", value / turned},
                        {"w", value},
                        {"l", config.size("kv_lora_rank")}});
  model.extents["k"] = plain + turned;
  model.extents["q"] = heads * (plain + turned);
  model.extents["kv"] = heads * (plain + value);
  model.extents["o"] = heads * value;
}

/// The scale of scores, which has a factor of its own that grows with the
/// context.
static double scaleOf(Config &config, const Rope &rope, int64_t features) {
  const char *key =
      config.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  double all = config.object(key).number("mscale_all_dim", 0);
  double grown =
      all != 0 && rope.stretch > 1 ? 0.1 * all * std::log(rope.stretch) + 1 : 1;
  return grown * grown / std::sqrt(double(features));
}

static LatentAttention readLatentAttention(Config &config, Model &model) {
  readHeads(config, model);
  LatentAttention attention;
  auto linear = [](const char *module) {
    return Linear{std::string("self_attn.") + module};
  };
  attention.query = linear("q_proj");
  if (config.has("q_lora_rank")) {
    model.extents["a"] = config.size("q_lora_rank");
    attention.queryDown = linear("q_a_proj");
    attention.queryNorm = Norm{"self_attn.q_a_layernorm", 1e-6};
    attention.query = linear("q_b_proj");
  }
  config.harmless({"q_lora_rank"});
  int64_t latent = model.extent("l"), turned = model.extent("u");
  const char *fused = "self_attn.kv_a_proj_with_mqa";
  attention.latent = {fused, false, false, 0, latent, "kv_a_proj"};
  attention.sharedKey = {fused,  false,           false,
                         latent, latent + turned, "shared_key_proj"};
  attention.latentNorm = Norm{"self_attn.kv_a_layernorm", 1e-6};
  attention.keyValue = linear("kv_b_proj");
  attention.output = linear("o_proj");
  attention.rope = readRope(config, 10000, turned, attention.magnitude);
  attention.scale = scaleOf(config, attention.rope, model.extent("k"));
  return attention;
}

static Experts readSharedExperts(Config &config, Model &model,
                                 const Mlp &dense) {
  config.only("output_router_logits", false, "a loss of balance");
  // The transformers library does not compute this loss either.
  if (double factor = config.number("aux_loss_alpha", 0); factor != 0)
    model.notes.push_back(fmt::format(
        "Left out: a loss of balance by aux_loss_alpha = {}.", factor));
  config.harmless({"seq_aux", "ep_size"});
  config.only("moe_layer_freq", 1, "experts in some layers only");
  const char *key = "n_routed_experts", *newer = "num_local_experts";
  Experts experts = readExperts(
      config, model, config.size(config.has(key) ? key : newer), "mlp",
      {"gate_proj", "up_proj", "down_proj"}, dense.activation);
  int64_t hidden = config.size("moe_intermediate_size");
  int64_t shared = config.size("n_shared_experts", 1);
  config.harmless({newer, "num_experts"});
  model.extents["f"] = hidden;
  model.extents["es"] = shared * hidden;
  experts.shared =
      Mlp{Linear{"mlp.shared_experts.gate_proj"},
          Linear{"mlp.shared_experts.up_proj"},
          Linear{"mlp.shared_experts.down_proj"}, dense.activation, "es"};
  experts.shared->gate->name = "shared_gate_proj";
  experts.shared->up.name = "shared_up_proj";
  experts.shared->down.name = "shared_down_proj";
  experts.factor = config.number("routed_scaling_factor", 1);
  return experts;
}

/// Reads groups of experts, of which a token uses some.
static void readGroups(Config &config, Model &model, int64_t counted,
                       Experts &experts) {
  experts.isGrouped = true;
  int64_t groups = config.size("n_group"), chosen = config.size("topk_group");
  int64_t count = model.extent("x");
  if (count % groups != 0 || chosen > groups || counted > count / groups ||
      model.extent("j") > count / groups * chosen)
    config.refuse("n_group", fmt::format("is {}, which does not go with {} "
                                         "experts and the {} of topk_group",
                                         groups, count, chosen));
  model.extents["y"] = groups;
  model.extents["i"] = std::max<int64_t>(count / groups, 1);
  model.extents["z"] = std::min(chosen, groups);
  model.extents["yb"] = std::min(counted, model.extent("i"));
}

static Model readDeepSeek(Config &config, const char *architecture,
                          int64_t headSize) {
  DecoderForm form{architecture};
  form.headSize = headSize;
  config.harmless({"head_dim", "qk_head_dim"});
  Model model = readDecoder(config, form);
  readNoBiases(config);
  // The layers of multi-token prediction, which only training uses, are left
  // out.
  for (const char *key : {"num_nextn_predict_layers", "num_mtp_layers"})
    if (config.count(key, 0) > 0)
      model.notes.push_back(fmt::format("Left out: the layers of {}.", key));
  return model;
}

/// Adds layers, the first of them dense.
static void addDenseFirst(Config &config, Model &model, int64_t otherwise,
                          const LatentAttention &attention, const Mlp &mlp,
                          const Experts &experts) {
  Norm before = readRmsNorm(config, "input_layernorm");
  Norm between = readRmsNorm(config, "post_attention_layernorm");
  model.kinds = {{"layer", {{before, attention}, {between, experts}}},
                 {"dense_layer", {{before, attention}, {between, mlp}}}};
  int64_t count = config.layers("num_hidden_layers");
  int64_t dense = config.count("first_k_dense_replace", otherwise);
  for (int64_t i = 0; i < count; ++i)
    model.layers.push_back(i < dense ? 1 : 0);
}

Model tpsp::import::readDeepSeekV2(Config &config) {
  Model model = readDeepSeek(config, "DeepseekV2ForCausalLM", 1);
  LatentAttention attention = readLatentAttention(config, model);
  Mlp mlp = readGatedMlp(config, model);
  Experts experts = readSharedExperts(config, model, mlp);
  experts.score = Score::Softmax;
  config.only("norm_topk_prob", false, "weights that sum to 1");
  config.oneOf("scoring_func", "softmax", {"softmax"});
  std::string method =
      config.oneOf("topk_method", "greedy", {"greedy", "group_limited_greedy"});
  if (method == "group_limited_greedy")
    readGroups(config, model, 1, experts);
  config.harmless({"n_group", "topk_group"});
  addDenseFirst(config, model, 0, attention, mlp, experts);
  return model;
}

Model tpsp::import::readDeepSeekV3(Config &config) {
  Model model = readDeepSeek(config, "DeepseekV3ForCausalLM", 1);
  LatentAttention attention = readLatentAttention(config, model);
  attention.isInterleaved = config.flag("rope_interleave", true);
  Mlp mlp = readGatedMlp(config, model);
  Experts experts = readSharedExperts(config, model, mlp);
  experts.score = Score::Sigmoid;
  experts.isNormalised = config.flag("norm_topk_prob", true);
  experts.choiceBias = "mlp.gate.e_score_correction_bias";
  config.oneOf("scoring_func", "sigmoid", {"sigmoid"});
  config.oneOf("topk_method", "noaux_tc", {"noaux_tc"});
  readGroups(config, model, 2, experts);
  addDenseFirst(config, model, 3, attention, mlp, experts);
  return model;
}
