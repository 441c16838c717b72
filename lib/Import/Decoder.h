/// The keys and parameter names that Llama and its relatives share. An
/// architecture's own file has its differences.
#ifndef TPSP_IMPORT_DECODER_H
#define TPSP_IMPORT_DECODER_H

#include "Config.h"
#include "Model.h"

namespace tpsp::import {

/// The properties of a decoder that its architecture decides.
struct DecoderForm {
  std::string architecture;
  bool hasQueryBias = false;
  bool hasOutputBias = false;
  /// Whether the head is tied to the embedding, if the configuration does not
  /// say.
  bool isTied = false;
  double theta = 10000;
  /// The number of a head's features and of key/value heads, if their keys are
  /// absent. 0: the width divided by the heads, and the heads.
  int64_t headSize = 0, keyValueHeads = 0;
};

/// Reads sizes, names of embedding, norm and head, and keys that change
/// nothing. The architecture adds the layers.
Model readDecoder(Config &config, const DecoderForm &form);

/// For architectures without biases: the keys of biases, if present, must be
/// off.
void readNoBiases(Config &config);

/// Attention with q_proj, k_proj, v_proj and o_proj of `self_attn`.
Attention readAttention(Config &config, const Model &model,
                        const DecoderForm &form);

/// An MLP with gate_proj, up_proj and down_proj of `mlp`. Its hidden index is
/// `e`, with the extent `intermediate_size`.
Mlp readGatedMlp(Config &config, Model &model, bool hasBias = false);

/// Experts that are stored one by one, as `module`.experts.{x}.w1 and so on.
/// `words` are the names of gate, up and down. `count` is the extent of x; the
/// architecture sets the extent of f.
Experts readExperts(Config &config, Model &model, int64_t count,
                    const std::string &module,
                    const std::vector<std::string> &words,
                    const std::string &activation);

/// The factor of the loss of balance: `router_aux_loss_coef`, or 0 without
/// `output_router_logits`.
double readBalanceFactor(Config &config);

/// The operation of tpsp for an activation, such as "silu" for hidden_act.
std::string readActivation(Config &config, const std::string &key,
                           const std::string &otherwise);

/// Rotations from `rope_parameters`, or from `rope_theta` and `rope_scaling`,
/// for heads of `features`. Scores are multiplied by the square of `magnitude`.
Rope readRope(Config &config, double theta, int64_t features,
              double &magnitude);

Norm readRmsNorm(Config &config, const std::string &module);

/// The layers whose attention has a window, if `layer_types` does not say.
enum class Sliding {
  All,
  EveryOther,    ///< beginning with the first
  FromKeyedLayer ///< the layers from `max_window_layers` on
};

/// Per layer, the number of keys that a query sees; 0: all before it. Unless
/// `isUsed`, it is 0 whatever `sliding_window` is.
std::vector<int64_t> readWindows(Config &config, Sliding sliding,
                                 bool isUsed = true);

/// Attention and an MLP between residuals, each after a norm.
std::vector<Block> decoderBlocks(Config &config, Attention attention,
                                 Part part);

/// Adds layers of one kind, which differ only in the windows of their
/// attention.
void addLayers(Config &config, Model &model, LayerKind kind,
               const std::vector<int64_t> &windows = {});

} // namespace tpsp::import

#endif // TPSP_IMPORT_DECODER_H
