/// Which mesh axes an imported program's indices are divided over.
///
/// A strategy is a word of parts, "tp-sp-fsdp". A part is a row of a table: an
/// axis, and which indices it divides of tokens, of activations between layers,
/// and of parameters. There is no code for any of them.
#ifndef TPSP_IMPORT_STRATEGY_H
#define TPSP_IMPORT_STRATEGY_H

#include "tpsp/Abi/Status.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tpsp::import {

/// What a tensor is in a model, which decides its subscripts.
enum class Where {
  Open,       ///< a value in a layer: propagation decides
  Tokens,     ///< positions along the vocabulary, [b, s]
  Activation, ///< what goes from layer to layer, [b, s, d]
  Parameter,
  Choices, ///< which experts each token has: at the token
  Slots,   ///< tokens at their experts, or at blocks of them
  Logits   ///< [b, s, v]
};

struct PlacedAxis {
  std::string name, role;
  int64_t size = 0;
};

class Strategy {
public:
  /// Nothing is divided; there is no mesh.
  Strategy() = default;

  /// `strategy`: "tp-sp", "ddp", ...; `mesh`: "tp=4,dp=2", or empty for two
  /// ranks an axis. INVALID if a part is not in the table or a size is no
  /// number from 1 on, with what is.
  static rt::Status parse(const std::string &strategy, const std::string &mesh,
                          Strategy &out);

  /// With more ranks of tp than key/value heads, tp becomes two axes: one that
  /// the heads fill, and `rep`, along which they are copied. INVALID if neither
  /// number divides the other.
  rt::Status spreadHeads(int64_t keyValueHeads, int64_t queriesPerHead);

  /// Major to minor.
  const std::vector<PlacedAxis> &mesh() const { return axes; }
  /// The same without rep: as --mesh gives them.
  std::vector<PlacedAxis> asGiven() const;
  /// Whether there is rep.
  bool copiesHeads() const { return isSpread; }

  /// The axes that divide an index of a tensor of `rank` indices.
  std::vector<PlacedAxis> axesOf(Where where, const std::string &index,
                                 size_t rank) const;
  /// The ranks that divide experts.
  int64_t expertRanks() const;
  /// Whether a tensor of this kind is placed rather than left open.
  bool decides(Where where) const;

private:
  struct Part;
  static const std::vector<Part> &table();
  rt::Status add(const std::string &name);
  rt::Status setSizes(const std::string &mesh);
  int64_t sizeOf(const std::string &axis) const;
  const PlacedAxis *find(const std::string &axis) const;

  std::vector<const Part *> parts;
  std::vector<PlacedAxis> axes;
  bool isSpread = false;
};

} // namespace tpsp::import

#endif // TPSP_IMPORT_STRATEGY_H
