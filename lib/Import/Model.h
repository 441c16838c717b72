/// A model as data: which parts a layer has, under which names a checkpoint has
/// their parameters. An architecture fills it from a config.json, in a file of
/// its own; one writer (ModelWriter.h) makes a program of it.
///
/// Extents go by index name:
///
///   b batch     s position       t position of a key   v vocabulary
///   d width     q queries' features, (g, r, k)         kv keys', (g, k)
///   g key/value heads            r query heads of each k features of a head
///   e hidden    x experts        f hidden of an expert c slots of an expert
///   j experts of a token         p learned positions    es shared hidden
///
/// Of heads that are made of blocks of u features:
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

/// y = norm(x) · gain. Names are of modules: "input_layernorm" has the
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

/// A linear map: [out, in], or [in, out].
struct Linear {
  std::string module;
  bool hasBias = false;
  bool isInFirst = false;
  /// Which of the stored rows are this map's, [begin, end), where several maps
  /// are one tensor; none: all.
  int64_t begin = 0, end = 0;
  /// What it is called in the program; empty: the module's last word.
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
  /// Over the features of a head.
  std::optional<Norm> queryNorm, keyNorm;
  std::optional<Rope> rope;
  double scale = 1;
  /// Scores are cap · tanh(score / cap); 0: they stay.
  double softCap = 0;
  /// How many keys a query sees, itself the last; 0: all before it.
  int64_t window = 0;
};

/// Keys and values of all heads from one narrow latent; so, perhaps, queries.
/// A head's key is blocks of `u` features without positions, then a block with,
/// which all heads share.
struct LatentAttention {
  /// The queries' latent, if there is one, and what is made of it.
  std::optional<Linear> queryDown;
  std::optional<Norm> queryNorm;
  Linear query;
  Linear latent, sharedKey;
  Norm latentNorm;
  Linear keyValue, output;
  Rope rope;
  /// Pairs are neighbours (0, 1), (2, 3), and not halves.
  bool isInterleaved = true;
  /// Rotated features are multiplied by this.
  double magnitude = 1;
  double scale = 1;
};

/// down(act(gate x) · up x), or down(act(up x)).
struct Mlp {
  std::optional<Linear> gate;
  Linear up, down;
  /// "silu", "gelu", ...: an operation.
  std::string activation;
  /// The index of what is hidden.
  std::string hidden = "e";
};

/// How much a token's experts count.
enum class Score {
  SoftmaxOfChosen, ///< of the scores of those that are chosen
  Softmax,         ///< of all scores
  Sigmoid          ///< each for itself
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
  /// An MLP of all tokens, added.
  std::optional<Mlp> shared = std::nullopt;
};

using Part = std::variant<Attention, LatentAttention, Mlp, Experts>;

/// x + after(part(before(x))).
struct Block {
  Norm before;
  Part part;
  std::optional<Norm> after = std::nullopt;
};

struct LayerKind {
  /// "layer", "dense_layer": the function.
  std::string function;
  std::vector<Block> blocks;
};

struct Model {
  /// "LlamaForCausalLM".
  std::string architecture;
  /// By index name; b, s, t and c are the writer's.
  std::map<std::string, int64_t> extents;

  std::string embedding;
  double embeddingScale = 1;
  /// Learned positions, [p, d]; empty: none.
  std::string positions;
  /// "model.layers.": what precedes a layer's number.
  std::string layerPrefix;
  std::vector<LayerKind> kinds;
  /// The kind of each layer.
  std::vector<size_t> layers;
  Norm finalNorm;
  /// Empty: the embedding is the head, too.
  std::string head;
  /// Logits are cap · tanh(logit / cap); 0: they stay.
  double logitsSoftCap = 0;
  /// How much the loss counts that experts are not alike in use; 0: nothing.
  double balanceFactor = 0;
  /// What the program leaves out that training by config.json would have.
  std::vector<std::string> notes;

  int64_t extent(const std::string &index) const {
    auto it = extents.find(index);
    return it == extents.end() ? 1 : it->second;
  }
};

} // namespace tpsp::import

#endif // TPSP_IMPORT_MODEL_H
