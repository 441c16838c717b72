/// The mesh axes that divide an imported program's indices.
///
/// A strategy is a word of parts, "tp-sp-fsdp". A part is a row of a table. The
/// row has an axis, and the indices that the axis divides in tokens, in
/// activations between layers, and in parameters. No part has code of its own.
#ifndef TPSP_IMPORT_STRATEGY_H
#define TPSP_IMPORT_STRATEGY_H

#include "tpsp/Abi/Status.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tpsp::import {

/// The role of a tensor in a model. It decides the tensor's subscripts.
enum class Where {
  Open,       ///< a value in a layer: propagation decides
  Tokens,     ///< positions along the vocabulary, [b, s]
  Activation, ///< the tensor between layers, [b, s, d]
  Parameter,
  Choices, ///< the experts of each token, placed with the token
  Slots,   ///< tokens placed with their experts, or with blocks of experts
  Logits   ///< [b, s, v]
};

struct PlacedAxis {
  std::string name, role;
  int64_t size = 0;
};

class Strategy {
public:
  /// A strategy without a mesh, which shards nothing.
  Strategy() = default;

  /// `strategy`: "tp-sp", "ddp", ...; `mesh`: "tp=4,dp=2", or empty for two
  /// ranks an axis. INVALID if a part is not in the table, or a size is not a
  /// number from 1 on; the message lists what is possible.
  static rt::Status parse(const std::string &strategy, const std::string &mesh,
                          Strategy &out);

  /// If tp has more ranks than there are key/value heads, splits tp into two
  /// axes. The heads fill one axis, and are copied along the other, `rep`.
  /// INVALID if neither number divides the other.
  rt::Status spreadHeads(int64_t keyValueHeads, int64_t queriesPerHead);

  /// The axes, major to minor.
  const std::vector<PlacedAxis> &mesh() const { return axes; }
  /// The axes without rep, as --mesh gives them.
  std::vector<PlacedAxis> asGiven() const;
  /// Whether the mesh has the axis rep.
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
