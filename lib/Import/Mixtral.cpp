#include "Architectures.h"
#include "Decoder.h"

using namespace tpsp::import;

Model tpsp::import::readMixtral(Config &config) {
  DecoderForm form{"MixtralForCausalLM"};
  form.keyValueHeads = 8;
  form.theta = 1e6;
  Model model = readDecoder(config, form);
  readNoBiases(config);
  std::vector<int64_t> windows = readWindows(config, Sliding::All);
  model.balanceFactor = readBalanceFactor(config);
  config.only("router_jitter_noise", 0.0, "noise of a router");
  Experts experts = readExperts(
      config, model, config.size("num_local_experts", 8), "block_sparse_moe",
      {"w1", "w3", "w2"}, readActivation(config, "hidden_act", "silu"));
  model.extents["f"] = config.size("intermediate_size");
  Attention attention = readAttention(config, model, form);
  addLayers(config, model, {"layer", decoderBlocks(config, attention, experts)},
            windows);
  return model;
}
