/// The place of a parameter in a checkpoint, which its name says.
///
///   "mlp.up.weight"           the tensor of this name
///   "c_attn.weight[:, 4:8]"   these columns of a tensor that has others
///   "experts.{x}.w1.weight"   several tensors: number i along the parameter's
///                             first index is "experts.i.w1.weight"
///
/// Both forms may be combined. Elements are numbered row-major.
#ifndef TPSP_RUNTIME_DRIVER_TENSORS_STOREDPARAMETER_H
#define TPSP_RUNTIME_DRIVER_TENSORS_STOREDPARAMETER_H

#include "tpsp/Abi/Plan.h"

#include <algorithm>

namespace tpsp::rt {

class StoredParameter {
public:
  /// A name of one of these forms that does not fit the parameter's shape is a
  /// plain name. The names of buffers that are not parameters are always plain.
  explicit StoredParameter(const PlanBuffer &parameter);

  /// One name, or one for each position of the first index.
  const std::vector<std::string> &tensors() const { return names; }
  /// The shape of the parameter's part of each tensor. The tensor has the same
  /// extents, except that along a cut dimension it has at least `end`.
  const std::vector<int64_t> &shape() const { return part; }
  bool isCut() const { return cut >= 0; }
  bool isPlain() const { return !isCut() && !isStack; }
  /// The dimension that is cut, or -1, and the parameter's positions [begin,
  /// end) in it.
  int64_t cutDimension() const { return cut; }
  int64_t begin() const { return cutBegin; }
  int64_t end() const { return cutEnd; }
  /// Whether a tensor of this shape contains the part.
  bool fits(const std::vector<int64_t> &stored) const;

  /// Calls visit(tensor, at, from, n) for every run of the parameter's elements
  /// [first, first + count). A run has n elements, from number `from` of the
  /// parameter, and begins at element `at` of a tensor. `extent` is the
  /// tensors' extent along the cut dimension.
  template <typename Visit>
  void forEachRun(int64_t extent, int64_t first, int64_t count,
                  Visit visit) const {
    int64_t whole = elementsOf(0);
    int64_t inner = isCut() ? elementsOf(cut + 1) : whole;
    int64_t run = isCut() ? inner * part[cut] : whole;
    for (int64_t from = first; from < first + count;) {
      int64_t inPart = from % whole, inRun = inPart % run;
      int64_t n = std::min(run - inRun, first + count - from);
      int64_t at =
          isCut() ? (inPart / run * extent + cutBegin) * inner + inRun : inPart;
      visit(size_t(from / whole), at, from, n);
      from += n;
    }
  }

private:
  bool parse(const PlanBuffer &parameter);
  bool parseCut(const std::string &ranges);
  /// The number of elements of the part's dimensions from `dimension` on.
  int64_t elementsOf(size_t dimension) const;

  std::vector<std::string> names;
  std::vector<int64_t> part;
  int64_t cut = -1, cutBegin = 0, cutEnd = 0;
  bool isStack = false;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_TENSORS_STOREDPARAMETER_H
