#include "Architectures.h"
#include "Decoder.h"

using namespace tpsp::import;

/// The checkpoint has queries, keys and values in one matrix, and gate and up
/// in another. The program's parameters are rows of these.
Model tpsp::import::readPhi3(Config &config) {
  DecoderForm form{"Phi3ForCausalLM"};
  Model model = readDecoder(config, form);
  readNoBiases(config);
  std::vector<int64_t> windows = readWindows(config, Sliding::All);
  model.dropout.residual = config.dropRate("resid_pdrop", 0);
  config.only("embd_pdrop", 0.0, "dropout of embeddings");
  config.only("lm_head_bias", false, "a bias of the head");
  config.harmless({"original_max_position_embeddings"});
  Mlp mlp = readGatedMlp(config, model);
  int64_t hidden = model.extent("e");
  mlp.gate = {"mlp.gate_up_proj", false, false, 0, hidden, "gate_proj"};
  mlp.up = {"mlp.gate_up_proj", false, false, hidden, 2 * hidden, "up_proj"};
  Attention attention = readAttention(config, model, form);
  int64_t q = model.extent("q"), kv = model.extent("kv");
  const char *fused = "self_attn.qkv_proj";
  attention.query = {fused, false, false, 0, q, "q_proj"};
  attention.key = {fused, false, false, q, q + kv, "k_proj"};
  attention.value = {fused, false, false, q + kv, q + 2 * kv, "v_proj"};
  addLayers(config, model, {"layer", decoderBlocks(config, attention, mlp)},
            windows);
  return model;
}
