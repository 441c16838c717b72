/// A model as data: the parts of its layers, and their parameters' names in a
/// checkpoint. Each architecture has a file that fills a Model from a
/// config.json. One writer (ModelWriter.h) makes a program of it.
///
/// The indices, by whose names extents are stored:
///
///   b batch     s position       t position of a key   v vocabulary
///   d width     q queries' features, (g, r, k)         kv keys', (g, k)
///   g key/value heads            r query heads of each k features of a head
///   e hidden    x experts        f hidden of an expert c slots of an expert
///   j experts of a token         p learned positions    es shared hidden
///
/// For heads that are made of blocks of u features:
///
///   a, l width of queries' and keys' latents           w features of a value
///   kb, lb blocks of a key, of a key and a value       vb of a value
///   m, n pairs of a block, members of a pair           o values' features
///   y groups of i experts        z groups of a token   yb of which count
#ifndef TPSP_IMPORT_MODEL_H
#define TPSP_IMPORT_MODEL_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tpsp::import {

/// y = norm(x) · gain. `module` is a module's name: "input_layernorm" has the
/// parameter "input_layernorm.weight".
struct Norm {
  enum class Kind {
    Rms,
    RmsPlusOne, ///< the gain is 1 + the parameter
    Layer       ///< with a bias
  };
  std::string module;
  double eps = 0;
  Kind kind = Kind::Rms;
};

/// A linear map, stored as [out, in] or, if `isInFirst`, as [in, out].
struct Linear {
  std::string module;
  bool hasBias = false;
  bool isInFirst = false;
  /// The stored rows that belong to this map, [begin, end), if several maps
  /// share one tensor. An empty range means all rows.
  int64_t begin = 0, end = 0;
  /// Its name in the program; empty: the module's last word.
  std::string name = "";
};

/// Rotations of queries and keys; docs/Notation.md has the meaning.
struct Rope {
  double theta = 10000;
  double stretch = 1, trained = 0, slowTurns = 0, fastTurns = 0;
  bool isLogarithmic = false;
};

struct Attention {
  Linear query, key, value, output;
  /// Norms over the features of a head.
  std::optional<Norm> queryNorm, keyNorm;
  std::optional<Rope> rope;
  double scale = 1;
  /// Scores become cap · tanh(score / cap); 0: no cap.
  double softCap = 0;
  /// The number of keys that a query sees, ending with its own position; 0: all
  /// before it.
  int64_t window = 0;
};

/// Keys and values of all heads come from one narrow latent; queries may have a
/// latent, too. A head's key has blocks of `u` features without positions, then
/// one block with positions, which all heads share.
struct LatentAttention {
  /// The map to the queries' latent, its norm, and the map from it to the
  /// queries.
  std::optional<Linear> queryDown;
  std::optional<Norm> queryNorm;
  Linear query;
  Linear latent, sharedKey;
  Norm latentNorm;
  Linear keyValue, output;
  Rope rope;
  /// Whether a rotated pair is two neighbours, (0, 1), (2, 3), or comes from
  /// the two halves.
  bool isInterleaved = true;
  /// Rotated features are multiplied by this.
  double magnitude = 1;
  double scale = 1;
};

/// down(act(gate x) · up x), or down(act(up x)).
struct Mlp {
  std::optional<Linear> gate;
  Linear up, down;
  /// The operation: "silu", "gelu", ...
  std::string activation;
  /// The hidden index.
  std::string hidden = "e";
};

/// How a token's experts are weighted.
enum class Score {
  SoftmaxOfChosen, ///< the softmax over the chosen experts' scores
  Softmax,         ///< the softmax over all scores
  Sigmoid          ///< the sigmoid of each score
};

/// Every token goes to `j` of `x` experts, each a gated MLP. `experts` are
/// modules with "{x}" for the expert's number.
struct Experts {
  Linear router;
  Linear gate, up, down;
  std::string activation;
  Score score = Score::SoftmaxOfChosen;
  /// Weights are divided by their sum, then multiplied by `factor`.
  bool isNormalised = false;
  double factor = 1;
  /// A parameter that is added to scores for the choice alone; or empty.
  std::string choiceBias = "";
  /// Experts are chosen from the `z` best of `y` groups, each as good as the
  /// sum of its `yb` best scores.
  bool isGrouped = false;
  /// An MLP for all tokens, whose result is added.
  std::optional<Mlp> shared = std::nullopt;
};

using Part = std::variant<Attention, LatentAttention, Mlp, Experts>;

/// x + after(part(before(x))).
struct Block {
  Norm before;
  Part part;
  std::optional<Norm> after = std::nullopt;
};

/// A rate at which training drops elements, and the configuration's key for it.
struct DropRate {
  std::string key;
  double rate = 0;
};

/// The tensors of which training drops elements.
struct Dropout {
  DropRate embedding; ///< the sum of a token's and a position's row
  DropRate attention; ///< the weights of attention
  DropRate residual;  ///< the sum that a block adds to its operand
};

struct LayerKind {
  /// The function's name: "layer", "dense_layer".
  std::string function;
  std::vector<Block> blocks;
};

struct Model {
  /// "LlamaForCausalLM".
  std::string architecture;
  /// Extents by index name. The writer adds b, s, t and c.
  std::map<std::string, int64_t> extents;

  std::string embedding;
  double embeddingScale = 1;
  /// Learned positions, [p, d]; empty: none.
  std::string positions;
  /// The prefix of a layer's number: "model.layers.".
  std::string layerPrefix;
  std::vector<LayerKind> kinds;
  /// The kind of each layer.
  std::vector<size_t> layers;
  Norm finalNorm;
  /// The head's module. Empty: the embedding is also the head.
  std::string head;
  /// Logits become cap · tanh(logit / cap); 0: no cap.
  double logitsSoftCap = 0;
  /// The factor of the loss of balance, which penalises uneven use of experts;
  /// 0: none.
  double balanceFactor = 0;
  Dropout dropout;
  /// Features of training by config.json that the program leaves out.
  std::vector<std::string> notes;

  int64_t extent(const std::string &index) const {
    auto it = extents.find(index);
    return it == extents.end() ? 1 : it->second;
  }
};

} // namespace tpsp::import

#endif // TPSP_IMPORT_MODEL_H
