/// What Llama and its relatives share of keys and parameter names. A file of an
/// architecture says where it differs.
#ifndef TPSP_IMPORT_DECODER_H
#define TPSP_IMPORT_DECODER_H

#include "Config.h"
#include "Model.h"

namespace tpsp::import {

/// What of a decoder an architecture decides.
struct DecoderForm {
  std::string architecture;
  bool hasQueryBias = false;
  bool hasOutputBias = false;
  /// Of the head and the embedding, if the configuration does not say.
  bool isTied = false;
  double theta = 10000;
  /// Keys of the number of a head's features and key/value heads, if absent:
  /// the width by the heads, and the heads.
  int64_t headSize = 0, keyValueHeads = 0;
};

/// Sizes, names of embedding, norm and head, and keys that change nothing.
/// Layers are the architecture's to add.
Model readDecoder(Config &config, const DecoderForm &form);

/// Of architectures without biases: keys that others have for them say so.
void readNoBiases(Config &config);

/// q_proj, k_proj, v_proj and o_proj of `self_attn`.
Attention readAttention(Config &config, const Model &model,
                        const DecoderForm &form);

/// gate_proj, up_proj and down_proj of `mlp`; its hidden extent is that of
/// `e`, from `intermediate_size`.
Mlp readGatedMlp(Config &config, Model &model, bool hasBias = false);

/// Experts one by one, `module`.experts.{x}.w1 and so on: gate, up and down are
/// called as `words` says. There are `count`, x; f is the architecture's.
Experts readExperts(Config &config, Model &model, int64_t count,
                    const std::string &module,
                    const std::vector<std::string> &words,
                    const std::string &activation);

/// What a loss of balance counts: `router_aux_loss_coef`, and 0 without
/// `output_router_logits`.
double readBalanceFactor(Config &config);

/// "silu" of hidden_act: an operation of tpsp.
std::string readActivation(Config &config, const std::string &key,
                           const std::string &otherwise);

/// Rotations from `rope_parameters`, or `rope_theta` and `rope_scaling`, for
/// heads of `features`; scores grow by the square of `magnitude`.
Rope readRope(Config &config, double theta, int64_t features,
              double &magnitude);

Norm readRmsNorm(Config &config, const std::string &module);

/// Which layers look back no further than a window, if `layer_types` does not
/// say.
enum class Sliding {
  All,
  EveryOther,    ///< the first does
  FromKeyedLayer ///< those from `max_window_layers` on
};

/// How many keys a query of each layer sees; 0: all before it. Not `isUsed`: 0
/// whatever `sliding_window` is.
std::vector<int64_t> readWindows(Config &config, Sliding sliding,
                                 bool isUsed = true);

/// Attention and an MLP between residuals, each behind a norm.
std::vector<Block> decoderBlocks(Config &config, Attention attention,
                                 Part part);

/// All layers are of this one kind, but for the windows of their attention.
void addLayers(Config &config, Model &model, LayerKind kind,
               const std::vector<int64_t> &windows = {});

} // namespace tpsp::import

#endif // TPSP_IMPORT_DECODER_H
