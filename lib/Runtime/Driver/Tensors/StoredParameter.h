/// Where a parameter lies in a checkpoint, as its name says.
///
///   "mlp.up.weight"             it is this tensor
///   "c_attn.weight[:, 4:8]"     it is these columns of a tensor that has
///   others "experts.{x}.w1.weight"     it is several tensors: the i-th of its
///   first
///                               index is "experts.i.w1.weight"
///
/// Both forms may come together. Elements are numbered row-major.
#ifndef TPSP_RUNTIME_DRIVER_TENSORS_STOREDPARAMETER_H
#define TPSP_RUNTIME_DRIVER_TENSORS_STOREDPARAMETER_H

#include "tpsp/Abi/Plan.h"

#include <algorithm>

namespace tpsp::rt {

class StoredParameter {
public:
  /// A name that has the form, but not the parameter's shape, is a plain name.
  /// So is every name but a parameter's.
  explicit StoredParameter(const PlanBuffer &parameter);

  /// One name, or one for each position of the first index.
  const std::vector<std::string> &tensors() const { return names; }
  /// What of each tensor is the parameter's. The tensor has the same extents,
  /// but at least `end` along a dimension that is cut.
  const std::vector<int64_t> &shape() const { return part; }
  bool isCut() const { return cut >= 0; }
  bool isPlain() const { return !isCut() && !isStack; }
  /// Which dimension is cut, or -1; and its positions [begin, end).
  int64_t cutDimension() const { return cut; }
  int64_t begin() const { return cutBegin; }
  int64_t end() const { return cutEnd; }
  /// Whether a tensor of this shape has the part.
  bool fits(const std::vector<int64_t> &stored) const;

  /// Calls visit(tensor, at, from, n) for every run of the parameter's elements
  /// [first, first + count). There are n of them, the first of which is number
  /// `from`; they begin at element `at` of a tensor. `extent` is that of the
  /// tensors along the dimension that is cut.
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
  /// Elements of the part's dimensions from `dimension` on.
  int64_t elementsOf(size_t dimension) const;

  std::vector<std::string> names;
  std::vector<int64_t> part;
  int64_t cut = -1, cutBegin = 0, cutEnd = 0;
  bool isStack = false;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_TENSORS_STOREDPARAMETER_H
