#include "Architectures.h"
#include "Decoder.h"

using namespace tpsp::import;

Model tpsp::import::readMistral(Config &config) {
  DecoderForm form{"MistralForCausalLM"};
  form.keyValueHeads = 8;
  Model model = readDecoder(config, form);
  readNoBiases(config);
  std::vector<int64_t> windows = readWindows(config, Sliding::All);
  Mlp mlp = readGatedMlp(config, model);
  Attention attention = readAttention(config, model, form);
  addLayers(config, model, {"layer", decoderBlocks(config, attention, mlp)},
            windows);
  return model;
}
