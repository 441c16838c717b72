/// What an argument of integers is in training: which part of a batch of
/// tokens.
#ifndef TPSP_ABI_DATAROLE_H
#define TPSP_ABI_DATAROLE_H

#include <array>
#include <optional>
#include <string>

namespace tpsp {

/// Of an argument [..., s], whose last index runs along a sequence and whose
/// others number sequences.
enum class DataRole {
  None,
  Tokens,     ///< token s of the sequence
  NextTokens, ///< token s + 1
  Positions   ///< s
};

/// "", "tokens", ...: what `tpsp.data` says, by DataRole.
inline constexpr std::array<const char *, 4> dataRoleNames = {
    "", "tokens", "next_tokens", "positions"};

/// None: there is no role of this name.
inline std::optional<DataRole> findDataRole(const std::string &name) {
  for (size_t role = 1; role < dataRoleNames.size(); ++role)
    if (name == dataRoleNames[role])
      return DataRole(role);
  return std::nullopt;
}

} // namespace tpsp

#endif // TPSP_ABI_DATAROLE_H
