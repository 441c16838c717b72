#include "tpsp/Algebra/MatmulForm.h"

#include "llvm/ADT/STLExtras.h"

#include <array>

using namespace tpsp;

namespace {

enum Operand { A, B, C, Ids };
using Strides = std::array<int64_t, 4>; // of A, B, C, Ids; 0 where absent

/// Indices that are merged: one extent, and a stride in each tensor.
struct JointIndex {
  int64_t extent = 1;
  Strides strides = {0, 0, 0};
};

struct Classes {
  llvm::SmallVector<JointIndex, 2> batch, m, n, k;
};

/// The product to be matched. `ids` choose along `chosen`, which is not an
/// index of the product itself. Without `chosen` it is a plain product.
struct Product {
  const IndexStructure &structure;
  bool isSwapped = false;
  std::optional<IndexId> chosen = {};

  const IndexStructure::Tensor *tensor(Operand which) const {
    if (which == C)
      return &structure.results[0];
    if (which == Ids)
      return chosen ? &structure.operands[0] : nullptr;
    bool isSecond = (which == B) != isSwapped;
    return &structure.operands[(chosen ? 1 : 0) + isSecond];
  }
  bool has(Operand which, IndexId index) const {
    return tensor(which)->dimOf(index).has_value();
  }
};

/// Row-major strides of a tensor's dimensions.
llvm::SmallVector<int64_t, 4> rowMajor(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t, 4> strides(shape.size(), 1);
  for (size_t dim = shape.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * shape[dim];
  return strides;
}

/// Merges indices whose strides continue each other in every tensor.
void merge(llvm::SmallVectorImpl<JointIndex> &joint) {
  // Sorts inner indices first, by any tensor that carries the class.
  llvm::sort(joint, [](const JointIndex &x, const JointIndex &y) {
    return x.strides < y.strides;
  });
  llvm::SmallVector<JointIndex, 2> merged;
  for (const JointIndex &one : joint) {
    auto continues = [&](const JointIndex &inner) {
      for (Operand tensor : {A, B, C, Ids})
        if (one.strides[tensor] != inner.strides[tensor] * inner.extent)
          return false;
      return true;
    };
    auto *inner = llvm::find_if(merged, continues);
    if (inner == merged.end())
      merged.push_back(one);
    else
      inner->extent *= one.extent;
  }
  joint.assign(merged.begin(), merged.end());
}

/// The stride of `index` in elements; 0 if the tensor lacks it.
int64_t strideOf(const IndexStructure::Tensor &tensor, IndexId index) {
  std::optional<unsigned> dim = tensor.dimOf(index);
  return dim ? rowMajor(tensor.shape)[*dim] : 0;
}

/// Sorts the indices into classes; nullopt if an index belongs to no class.
std::optional<Classes> classify(const Product &product) {
  Classes classes;
  for (IndexId index = 0; index < product.structure.indices.size(); ++index) {
    JointIndex one;
    unsigned carriers = 0;
    for (Operand which : {A, B, C, Ids}) {
      const IndexStructure::Tensor *tensor = product.tensor(which);
      std::optional<unsigned> dim =
          tensor ? tensor->dimOf(index) : std::nullopt;
      if (!dim)
        continue;
      one.extent = tensor->shape[*dim];
      one.strides[which] = strideOf(*tensor, index);
      carriers |= which == Ids ? 0 : 1u << which;
    }
    if (index == product.chosen)
      continue;
    if (one.extent == 1)
      continue; // its stride does not matter
    switch (carriers) {
    case 0b111:
      classes.batch.push_back(one);
      break;
    case 0b101:
      classes.m.push_back(one);
      break;
    case 0b110:
      classes.n.push_back(one);
      break;
    case 0b011:
      classes.k.push_back(one);
      break;
    default:
      return std::nullopt;
    }
  }
  for (auto *joint : {&classes.batch, &classes.m, &classes.n, &classes.k})
    merge(*joint);
  return classes;
}

/// Finds the leading dimension of a matrix of `rows` x `columns` in one tensor,
/// and whether it is stored transposed. False if neither dimension is
/// contiguous.
bool readMatrix(const JointIndex &rows, const JointIndex &columns,
                Operand tensor, int64_t &leading, bool &transpose) {
  bool columnsInner = columns.extent == 1 || columns.strides[tensor] == 1;
  bool rowsInner = rows.extent == 1 || rows.strides[tensor] == 1;
  if (columnsInner) {
    transpose = false;
    leading = rows.extent == 1 ? columns.extent : rows.strides[tensor];
    return leading >= columns.extent;
  }
  if (rowsInner) {
    transpose = true;
    leading = columns.strides[tensor];
    return leading >= rows.extent;
  }
  return false;
}

/// A form with the integers' strides along its loops.
using Form = GroupedMatmulForm;

/// Whether `rows` can be the rows of a grouped product: their integers are
/// neighbours, and do not change along the other matrix dimensions.
bool rowsAre(const JointIndex &rows, const JointIndex &x, const JointIndex &y) {
  return rows.strides[Ids] == 1 && x.strides[Ids] == 0 && y.strides[Ids] == 0;
}

void addLoops(llvm::ArrayRef<JointIndex> joint,
              std::vector<rt::MatmulLoop> &loops, Form &form) {
  for (const JointIndex &one : joint) {
    loops.push_back(
        {one.extent, one.strides[A], one.strides[B], one.strides[C]});
    form.idStrides.push_back(one.strides[Ids]);
  }
}

/// The form with these indices as the matrix dimensions, if it is legal.
std::optional<Form> formWith(const Classes &classes, const JointIndex &m,
                             const JointIndex &n, const JointIndex &k) {
  Form form;
  bool transposeC = false;
  if (!readMatrix(m, k, A, form.lda, form.transposeA) ||
      !readMatrix(k, n, B, form.ldb, form.transposeB) ||
      !readMatrix(m, n, C, form.ldc, transposeC) || transposeC)
    return std::nullopt;
  form.m = m.extent;
  form.n = n.extent;
  form.k = k.extent;
  llvm::SmallVector<JointIndex, 2> batch, accumulate;
  auto addOthers = [](llvm::ArrayRef<JointIndex> joint, const JointIndex &taken,
                      auto &into) {
    for (const JointIndex &one : joint)
      if (one.strides != taken.strides)
        into.push_back(one);
  };
  addOthers(classes.batch, JointIndex{}, batch);
  addOthers(classes.m, m, batch);
  addOthers(classes.n, n, batch);
  addOthers(classes.k, k, accumulate);
  // Outermost loops come first.
  llvm::sort(batch, [](const JointIndex &x, const JointIndex &y) {
    return x.strides[C] > y.strides[C];
  });
  addLoops(batch, form.batch, form);
  addLoops(accumulate, form.accumulate, form);
  return form;
}

/// The largest legal form with the operands in this order. For a grouped
/// product, its rows must fit `sumsRows`.
std::optional<Form> bestForm(const Classes &classes,
                             std::optional<bool> sumsRows = {}) {
  static const JointIndex one;
  auto options = [](llvm::ArrayRef<JointIndex> joint) {
    return joint.empty() ? llvm::ArrayRef<JointIndex>(one) : joint;
  };
  std::optional<Form> best;
  for (const JointIndex &m : options(classes.m))
    for (const JointIndex &n : options(classes.n))
      for (const JointIndex &k : options(classes.k)) {
        if (sumsRows && !(*sumsRows ? rowsAre(k, m, n) : rowsAre(m, n, k)))
          continue;
        std::optional<Form> form = formWith(classes, m, n, k);
        if (form && (!best ||
                     form->m * form->n * form->k > best->m * best->n * best->k))
          best = std::move(form);
      }
  return best;
}

int64_t volumeOf(const std::optional<Form> &form) {
  return form ? form->m * form->n * form->k : 0;
}

/// Whether it is worth a matrix product. A dot product, or a batch of
/// matrix-vector products, is not: a loop nest reads every element once, at the
/// speed of memory.
bool isOfMatrices(const Classes &classes) {
  bool vectors = classes.m.empty() || classes.n.empty();
  return !classes.k.empty() &&
         !(vectors && (!classes.batch.empty() ||
                       (classes.m.empty() && classes.n.empty())));
}

/// Takes the larger of the forms for both orders of the operands.
template <typename Match>
Match matched(std::optional<Form> form, std::optional<Form> swapped) {
  Match match;
  match.isSwapped = volumeOf(swapped) > volumeOf(form);
  if (match.isSwapped)
    form = std::move(swapped);
  if (form)
    match.form = std::move(*form);
  else
    match.obstacle = MatmulObstacle::Layout;
  return match;
}

} // namespace

MatmulMatch tpsp::matchMatmul(const IndexStructure &structure) {
  std::optional<Classes> classes;
  if (structure.operands.size() == 2)
    classes = classify({structure});
  if (!classes || !isOfMatrices(*classes))
    return {MatmulObstacle::NotAProduct};
  Product mirrored{structure, /*isSwapped=*/true};
  return matched<MatmulMatch>(bestForm(*classes),
                              bestForm(*classify(mirrored)));
}

GroupedMatmulMatch tpsp::matchGroupedMatmul(const IndexStructure &structure,
                                            IndexId chosen) {
  Product product{structure, /*isSwapped=*/false, chosen};
  bool sumsRows = product.has(C, chosen);
  unsigned carriers =
      product.has(A, chosen) + product.has(B, chosen) + unsigned(sumsRows);
  std::optional<Classes> classes = classify(product);
  if (carriers != 1 || !classes || !isOfMatrices(*classes))
    return {MatmulObstacle::NotAProduct};
  // The chosen matrices belong to B, or to C.
  Product mirrored{structure, /*isSwapped=*/true, chosen};
  auto formOf = [&](const Product &order) -> std::optional<Form> {
    if (!sumsRows && !order.has(B, chosen))
      return std::nullopt;
    return bestForm(*classify(order), sumsRows);
  };
  auto match = matched<GroupedMatmulMatch>(formOf(product), formOf(mirrored));
  if (match.obstacle != MatmulObstacle::None)
    return match;
  Operand matrices = sumsRows ? C : B;
  const IndexStructure::Tensor &tensor =
      *(match.isSwapped ? mirrored : product).tensor(matrices);
  match.form.sumsRows = sumsRows;
  match.form.groups = tensor.shape[*tensor.dimOf(chosen)];
  match.form.groupStride = strideOf(tensor, chosen);
  return match;
}
