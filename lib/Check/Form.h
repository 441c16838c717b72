/// How the ranks of a dump hold a tensor, and a prediction in the same form.
#ifndef TPSP_LIB_CHECK_FORM_H
#define TPSP_LIB_CHECK_FORM_H

#include "Dense.h"

#include "tpsp/Abi/Plan.h"
#include "tpsp/Abi/RankMesh.h"
#include "tpsp/Check/Dump.h"
#include "tpsp/Check/Predictor.h"

#include <optional>
#include <string>
#include <vector>

namespace tpsp::check {

/// The index names of a tensor, in the order of its dimensions.
std::vector<std::string> indexNamesOf(const PlanBuffer &tensor);

/// A tensor of the program on its mesh.
class PlacedTensor {
public:
  /// Both must outlive this object.
  PlacedTensor(const PlanBuffer &buffer, const rt::RankMesh &mesh)
      : tensor(buffer), ranks(mesh) {}

  const PlanBuffer &buffer() const { return tensor; }
  const rt::RankMesh &mesh() const { return ranks; }
  /// The axes that divide it, ascending.
  std::vector<int64_t> dividing() const;
  /// The axes along which ranks have copies, ascending.
  std::vector<int64_t> copied() const;
  /// The extents of a rank's part, without padding; for a piece of a row of
  /// elements (Abi/FlatCut.h), their number.
  Shape partShape(int64_t rank) const;
  /// A rank's part of the whole tensor, row-major.
  std::vector<double> partOf(const std::vector<double> &whole,
                             int64_t rank) const;
  RankValues partsOf(const std::vector<double> &whole) const;
  /// The whole tensor that a rank and those that hold its other parts have
  /// together.
  std::vector<double> wholeAt(const RankValues &parts, int64_t rank) const;

private:
  const PlanBuffer &tensor;
  const rt::RankMesh &ranks;
};

/// How a dump holds a tensor.
struct Form {
  enum Kind {
    Part,  ///< every rank its part, as the program divides it
    Whole, ///< every rank the whole tensor
    Cut    ///< divided in another way
  };
  Kind kind = Part;
  /// For Cut: the axes that divide each dimension, major to minor.
  std::vector<std::vector<int64_t>> axes;
  /// The dump's dimensions as positions of the tensor's; empty: in order.
  std::vector<size_t> order;
  /// The axes over which the dump says that it has summands.
  std::vector<int64_t> pending;
  /// How it differs from the program's form, for people; empty if it does not.
  std::string note;
  /// Whether the dump says that it is so.
  bool isStated = false;
};

/// Finds the form by the dumped shapes, or by the placement that the dump
/// states. Ranks that lack the tensor are ignored. None if no form has these
/// shapes.
std::optional<Form> formOf(const PlacedTensor &tensor, const DumpEntry &entry);

/// The form that the dump's placement says; none if it has none, or one of
/// other dimensions. The shapes are not looked at.
std::optional<Form> statedForm(const PlacedTensor &tensor,
                               const DumpEntry &entry);
/// Whether the ranks' shapes are those of a form. Extents of 1 decide nothing.
bool fits(const PlacedTensor &tensor, const Form &form, const DumpEntry &entry);

/// A prediction, in parts, as the form has it.
RankValues inForm(const PlacedTensor &tensor, const Form &form,
                  const RankValues &parts);

/// The whole tensor, by what a rank and those that hold its other parts have in
/// a form. Elements that no rank has are zero.
std::vector<double> wholeOf(const PlacedTensor &tensor, const Form &form,
                            const RankValues &values, int64_t rank);

/// Whether a rank and those that hold its other parts have values.
bool isComplete(const PlacedTensor &tensor, const Form &form,
                const RankValues &values, int64_t rank);

/// The sum over the groups of some axes. Every rank gets its group's.
RankValues summed(const rt::RankMesh &mesh, const RankValues &values,
                  const std::vector<int64_t> &axes);

/// All subsets of a list, the empty one first.
std::vector<std::vector<int64_t>> subsetsOf(const std::vector<int64_t> &list);

} // namespace tpsp::check

#endif // TPSP_LIB_CHECK_FORM_H
