#include "Architectures.h"
#include "Decoder.h"

using namespace tpsp::import;

/// Only queries, keys and values have biases.
Model tpsp::import::readQwen2(Config &config) {
  DecoderForm form{"Qwen2ForCausalLM"};
  form.hasQueryBias = true;
  Model model = readDecoder(config, form);
  std::vector<int64_t> windows =
      readWindows(config, Sliding::FromKeyedLayer,
                  config.flag("use_sliding_window", false));
  Mlp mlp = readGatedMlp(config, model);
  Attention attention = readAttention(config, model, form);
  addLayers(config, model, {"layer", decoderBlocks(config, attention, mlp)},
            windows);
  return model;
}
