/// The content of an argument of integers in training: a part of a batch of
/// tokens, or labels.
#ifndef TPSP_ABI_DATAROLE_H
#define TPSP_ABI_DATAROLE_H

#include "tpsp/Abi/EnumNames.h"

namespace tpsp {

/// The role of an argument [..., s]: its last index runs along a sequence, and
/// its other indices number sequences.
enum class DataRole {
  None,
  Tokens,            ///< token s of the sequence
  NextTokens,        ///< token s + 1
  Positions,         ///< s
  Documents,         ///< the number of documents that end before token s
  DocumentPositions, ///< the tokens between the beginning of s's document and s
  Labels ///< any labels, not made of tokens; a negative one does not count
};

/// The values of the attribute `tpsp.data`.
template <> struct EnumNames<DataRole> {
  static constexpr const char *all[] = {
      "",          "tokens",    "next_tokens",
      "positions", "documents", "document_positions",
      "labels"};
};

/// Whether a batch of tokens gives the argument.
inline bool isMadeOfTokens(DataRole role) {
  return role != DataRole::None && role != DataRole::Labels;
}

/// Whether the argument depends on where the documents of a sequence end.
inline bool isOfDocuments(DataRole role) {
  return role == DataRole::Documents || role == DataRole::DocumentPositions;
}

/// Whether an argument's integers may be negative, and then do not count.
inline bool holdsLabels(DataRole role) {
  return role == DataRole::Labels || role == DataRole::NextTokens;
}

} // namespace tpsp

#endif // TPSP_ABI_DATAROLE_H
