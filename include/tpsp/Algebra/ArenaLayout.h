/// Offsets of buffers in an arena, allocated and freed in program order.
#ifndef TPSP_ALGEBRA_ARENALAYOUT_H
#define TPSP_ALGEBRA_ARENALAYOUT_H

#include <cstdint>
#include <map>

namespace tpsp {

/// A free list with best fit and coalescing: O(log n) an operation. Offsets and
/// sizes are in bytes, rounded up to `alignment`.
class ArenaLayout {
public:
  static constexpr int64_t alignment = 64; // a cache line

  /// The smallest free range that fits, else the end of the arena.
  int64_t allocate(int64_t bytes);
  /// Gives back what `allocate` returned for this size.
  void release(int64_t offset, int64_t bytes);
  /// Takes back a part of what is free: whole units of `alignment`.
  void take(int64_t offset, int64_t bytes);
  /// What a buffer of this size takes up.
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
