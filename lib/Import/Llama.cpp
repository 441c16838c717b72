#include "Architectures.h"
#include "Decoder.h"

using namespace tpsp::import;

Model tpsp::import::readLlama(Config &config) {
  DecoderForm form{"LlamaForCausalLM"};
  form.hasQueryBias = form.hasOutputBias = config.flag("attention_bias", false);
  Model model = readDecoder(config, form);
  Mlp mlp = readGatedMlp(config, model, config.flag("mlp_bias", false));
  Attention attention = readAttention(config, model, form);
  addLayers(config, model, {"layer", decoderBlocks(config, attention, mlp)});
  return model;
}
