/// The most memory that is held at once, by live ranges.
#ifndef TPSP_ABI_LIVEBYTES_H
#define TPSP_ABI_LIVEBYTES_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tpsp {

class LiveBytes {
public:
  /// What is there at the positions from `first` to `last`, counted from 0.
  void add(int64_t first, int64_t last, int64_t bytes) {
    if (changes.size() < size_t(last) + 2)
      changes.resize(size_t(last) + 2);
    changes[size_t(first)] += bytes;
    changes[size_t(last) + 1] -= bytes;
  }

  int64_t most() const {
    int64_t held = 0, most = 0;
    for (int64_t bytes : changes)
      most = std::max(most, held += bytes);
    return most;
  }

private:
  /// From each position's predecessor to it.
  std::vector<int64_t> changes;
};

} // namespace tpsp

#endif // TPSP_ABI_LIVEBYTES_H
