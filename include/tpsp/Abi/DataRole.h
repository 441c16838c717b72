/// The part of a batch of tokens that an argument of integers holds in
/// training.
#ifndef TPSP_ABI_DATAROLE_H
#define TPSP_ABI_DATAROLE_H

#include "tpsp/Abi/EnumNames.h"

namespace tpsp {

/// The role of an argument [..., s]: its last index runs along a sequence, and
/// its other indices number sequences.
enum class DataRole {
  None,
  Tokens,     ///< token s of the sequence
  NextTokens, ///< token s + 1
  Positions   ///< s
};

/// The values of the attribute `tpsp.data`.
template <> struct EnumNames<DataRole> {
  static constexpr const char *all[] = {"", "tokens", "next_tokens",
                                        "positions"};
};

} // namespace tpsp

#endif // TPSP_ABI_DATAROLE_H
