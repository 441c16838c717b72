/// What an argument of integers is in training: which part of a batch of
/// tokens.
#ifndef TPSP_ABI_DATAROLE_H
#define TPSP_ABI_DATAROLE_H

#include "tpsp/Abi/EnumNames.h"

namespace tpsp {

/// Of an argument [..., s], whose last index runs along a sequence and whose
/// others number sequences.
enum class DataRole {
  None,
  Tokens,     ///< token s of the sequence
  NextTokens, ///< token s + 1
  Positions   ///< s
};

/// What `tpsp.data` says.
template <> struct EnumNames<DataRole> {
  static constexpr const char *all[] = {"", "tokens", "next_tokens",
                                        "positions"};
};

} // namespace tpsp

#endif // TPSP_ABI_DATAROLE_H
