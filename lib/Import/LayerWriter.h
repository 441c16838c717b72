/// Writes the parts of a layer as operations. A part asks for its parameters
/// while it is written; they become the arguments of the layer's function.
#ifndef TPSP_IMPORT_LAYERWRITER_H
#define TPSP_IMPORT_LAYERWRITER_H

#include "Model.h"
#include "ProgramText.h"

namespace tpsp::import {

/// The use of experts in the layers so far, per sample, [b, x]. `chosen` is the
/// number of choices of each expert, `likely` its mean probability over
/// positions.
struct ExpertUse {
  Value chosen, likely;

  static Type type() { return {{"b", "x"}, "f32", Where::Activation}; }
};

class LayerWriter {
public:
  /// `element`: the element type of parameters and activations. `seed`: the
  /// last dropout's of the program, which later ones count up.
  LayerWriter(FunctionText &text, std::string element, const Dropout &dropout,
              int64_t &seed)
      : text(text), element(std::move(element)), dropout(dropout), seed(seed) {}

  /// Adds a parameter as the function's last argument. `stored` is its name in
  /// the checkpoint; in a layer, without the layer's prefix.
  Value parameter(const std::string &name, const std::string &stored,
                  const Indices &indices, bool isFrozen = false);
  Value norm(const Norm &norm, const Value &x, const Indices &over,
             const std::string &name);
  /// Applies a linear map to `x`, from indices `from` to `to`. The checkpoint
  /// stores them as one index each, `storedFrom` and `storedTo`.
  struct Map {
    std::string storedFrom, storedTo;
    Indices from, to;
  };
  Value linear(const Linear &linear, const Map &map, const Value &x,
               const std::string &name);
  /// `x` with elements dropped, or `x` if the rate is 0.
  Value dropped(const Value &x, const DropRate &drop, const std::string &name);
  Value softCap(const Value &x, double cap, const std::string &name);

  Value write(const Attention &part, const Value &x);
  Value write(const LatentAttention &part, const Value &x);
  Value write(const Mlp &part, const Value &x);
  Value write(const Experts &part, const Value &x);
  /// If `isLast`, the last operation has a layer's result type.
  Value write(const Block &block, const Value &x, bool isLast);

  /// The use to which experts add theirs. Without it they add nothing.
  std::optional<ExpertUse> use;

  /// The types of the parameters.
  const std::vector<Type> &parameters() const { return list; }

  /// A type of this layer's element.
  Type open(Indices indices) const { return {std::move(indices), element}; }
  FunctionText &out() { return text; }

private:
  Indices heads() const;
  /// ", dropout = 0.1, seed = 3" of an attention's weights; or "".
  std::string weightsDropout();
  Value rotated(const Value &x, const std::optional<Rope> &rope,
                const std::string &feature);
  Value keyed(const Value &x, const std::string &name);
  Value weightedValues(const Attention &part, const Value &q, const Value &k,
                       const Value &v);
  Value activated(const std::string &activation, const Value &x);

  // LatentWriter.cpp
  std::vector<Value> blocksOf(const Value &x, const std::string &index);
  Value joined(const std::vector<Value> &blocks, const std::string &name,
               const std::string &block, const std::string &whole);
  Value turnedBlock(const LatentAttention &part, const Value &x,
                    const std::string &name);
  Value latentQuery(const LatentAttention &part, const Value &x);

  // ExpertsWriter.cpp
  struct Routing {
    Value choice, weight;
  };
  Routing route(const Experts &part, const Value &x);
  void addUse(const Experts &part, const Value &score, const Value &choice);
  Value choose(const Value &score, const std::string &from,
               const std::string &to, const std::string &name,
               Where where = Where::Open);
  Value chosenOf(const Value &choice, const Value &score,
                 const std::string &from, const std::string &name);
  Value withinGroups(const Value &score);
  /// The places of the tokens' choices: slots of experts, or rows of blocks of
  /// experts.
  struct Places {
    /// The index of experts or of blocks.
    std::string block;
    /// The attributes of dispatch and combine.
    std::string attributes;
    /// For blocks: the load of experts, and the expert of every row.
    std::optional<Value> load, expert;
  };
  Places slotsOfExperts();
  Places rowsOfBlocks(const Value &choice);
  Value throughExperts(const Places &places, const Value &matrix,
                       const Value &in, const std::string &name,
                       const std::string &to);

  FunctionText &text;
  std::string element;
  const Dropout &dropout;
  int64_t &seed;
  std::vector<Type> list;
};

} // namespace tpsp::import

#endif // TPSP_IMPORT_LAYERWRITER_H
