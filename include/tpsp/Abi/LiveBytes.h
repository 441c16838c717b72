/// The most memory that live ranges hold at once.
#ifndef TPSP_ABI_LIVEBYTES_H
#define TPSP_ABI_LIVEBYTES_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tpsp {

class LiveBytes {
public:
  /// Adds `bytes` that are held at the positions from `first` to `last`,
  /// counted from 0.
  void add(int64_t first, int64_t last, int64_t bytes) {
    if (changes.size() < size_t(last) + 2)
      changes.resize(size_t(last) + 2);
    changes[size_t(first)] += bytes;
    changes[size_t(last) + 1] -= bytes;
  }

  int64_t most() const { return at(whenMost()); }

  /// The first position that holds most.
  int64_t whenMost() const {
    int64_t held = 0, most = 0, when = 0;
    for (size_t i = 0; i < changes.size(); ++i)
      if ((held += changes[i]) > most) {
        most = held;
        when = int64_t(i);
      }
    return when;
  }

  int64_t at(int64_t position) const {
    int64_t held = 0;
    for (size_t i = 0; i < changes.size() && int64_t(i) <= position; ++i)
      held += changes[i];
    return held;
  }

private:
  /// The change in bytes from each position's predecessor to the position.
  std::vector<int64_t> changes;
};

} // namespace tpsp

#endif // TPSP_ABI_LIVEBYTES_H
