#include "Architectures.h"
#include "Decoder.h"

using namespace tpsp::import;

Model tpsp::import::readMistral(Config &config, const ImportOptions &options) {
  DecoderForm form{"MistralForCausalLM"};
  form.keyValueHeads = 8;
  Model model = readDecoder(config, form);
  checkWindow(config, options, /*isUsed=*/true);
  Mlp mlp = readGatedMlp(config, model);
  Attention attention = readAttention(config, model, form);
  addLayers(config, model, {"layer", decoderBlocks(config, attention, mlp)});
  return model;
}
