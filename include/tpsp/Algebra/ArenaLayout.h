/// Offsets of buffers in an arena, allocated and freed in program order.
#ifndef TPSP_ALGEBRA_ARENALAYOUT_H
#define TPSP_ALGEBRA_ARENALAYOUT_H

#include <cstdint>
#include <map>

namespace tpsp {

/// A free list with best fit and coalescing; each operation takes O(log n).
/// Offsets and sizes are in bytes, rounded up to `alignment`.
class ArenaLayout {
public:
  static constexpr int64_t alignment = 64; // a cache line

  /// Allocates from the smallest free range that fits, else at the end of the
  /// arena. Returns the offset.
  int64_t allocate(int64_t bytes);
  /// Frees the range that `allocate` returned for this size.
  void release(int64_t offset, int64_t bytes);
  /// Allocates a given part of a free range, in whole units of `alignment`.
  void take(int64_t offset, int64_t bytes);
  /// The bytes that a buffer of this size occupies.
  static int64_t rounded(int64_t bytes);
  /// The size that the arena has grown to.
  int64_t size() const { return end; }

private:
  void addFree(int64_t offset, int64_t bytes);
  void removeFree(std::map<int64_t, int64_t>::iterator range);

  int64_t end = 0;
  std::map<int64_t, int64_t> freeByOffset;    // offset -> size
  std::multimap<int64_t, int64_t> freeBySize; // size -> offset
};

} // namespace tpsp

#endif // TPSP_ALGEBRA_ARENALAYOUT_H
