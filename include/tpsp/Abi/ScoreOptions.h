/// The options of an attention's scores, as plain values.
///
/// A new option is declared here and in ScoreAttributes.td (Dialect/Tpsp/IR),
/// under one name. Operations, commands, plan files, traces and the reference
/// have the options that visitAll() names. Only the meaning is written for
/// each: in the verifier, the decomposition, the reference, the cost and each
/// backend.
#ifndef TPSP_ABI_SCOREOPTIONS_H
#define TPSP_ABI_SCOREOPTIONS_H

#include <algorithm>
#include <cstdint>

namespace tpsp {

/// Which keys a query sees by their positions. An option that is 0 or false
/// hides none.
struct PositionMask {
  /// A query sees no later key.
  bool causal = false;
  /// A query sees no key that lies `window` positions or more before it.
  /// Requires `causal`, and no more queries than keys.
  int64_t window = 0;
  /// A query sees keys of its own chunk only: position / chunk is the same.
  /// Requires `causal`, and no more queries than keys.
  int64_t chunk = 0;

  /// Whether a query may not see the first key.
  bool hidesEarlyKeys() const { return window > 0 || chunk > 0; }
  /// Whether the keys that a query sees depend on their distance alone.
  bool isSliding() const { return window > 0 && chunk == 0; }
  /// The most of `keys` keys that a query sees.
  int64_t mostKeys(int64_t keys) const {
    int64_t most = window > 0 ? std::min(window, keys) : keys;
    return chunk > 0 ? std::min(chunk, most) : most;
  }

  /// Calls `visit(name, field)` for every option.
  template <typename Mask, typename Visit>
  static void visitAll(Mask &mask, const Visit &visit) {
    visit("causal", mask.causal);
    visit("window", mask.window);
    visit("chunk", mask.chunk);
  }
};

/// How scores follow from the products of queries and keys. `softcap` is 0 if
/// there is none.
struct ScoreOptions : PositionMask {
  double scale = 1;
  double softcap = 0;

  /// Calls `visit(name, field)` for every option.
  template <typename Options, typename Visit>
  static void visitAll(Options &options, const Visit &visit) {
    visit("scale", options.scale);
    PositionMask::visitAll(options, visit);
    visit("softcap", options.softcap);
  }
};

} // namespace tpsp

#endif // TPSP_ABI_SCOREOPTIONS_H
