#include "tpsp/Algebra/MatmulForm.h"

#include "llvm/ADT/STLExtras.h"

#include <array>

using namespace tpsp;

namespace {

enum Operand { A, B, C };
using Strides = std::array<int64_t, 3>; // of A, B, C; 0 where absent

/// Indices that act as one: an extent and a stride in each tensor.
struct Group {
  int64_t extent = 1;
  Strides strides = {0, 0, 0};
};

struct Classes {
  llvm::SmallVector<Group, 2> batch, m, n, k;
};

/// Row-major strides of a tensor's dimensions.
llvm::SmallVector<int64_t, 4> rowMajor(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t, 4> strides(shape.size(), 1);
  for (size_t dim = shape.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * shape[dim];
  return strides;
}

/// Merges groups whose strides continue each other in every tensor.
void merge(llvm::SmallVectorImpl<Group> &groups) {
  // Inner before outer, judged by any tensor that carries the class.
  llvm::sort(groups, [](const Group &x, const Group &y) {
    return x.strides < y.strides;
  });
  llvm::SmallVector<Group, 2> merged;
  for (const Group &group : groups) {
    auto continues = [&](const Group &inner) {
      for (Operand tensor : {A, B, C})
        if (group.strides[tensor] != inner.strides[tensor] * inner.extent)
          return false;
      return true;
    };
    auto *inner = llvm::find_if(merged, continues);
    if (inner == merged.end())
      merged.push_back(group);
    else
      inner->extent *= group.extent;
  }
  groups.assign(merged.begin(), merged.end());
}

/// Sorts the indices into classes; nullopt if one belongs to none.
std::optional<Classes> classify(const IndexStructure &structure) {
  const IndexStructure::Tensor *tensors[] = {
      &structure.operands[0], &structure.operands[1], &structure.results[0]};
  llvm::SmallVector<int64_t, 4> strides[3];
  for (Operand tensor : {A, B, C})
    strides[tensor] = rowMajor(tensors[tensor]->shape);

  Classes classes;
  for (IndexId index = 0; index < structure.indices.size(); ++index) {
    Group group;
    unsigned carriers = 0;
    for (Operand tensor : {A, B, C})
      if (std::optional<unsigned> dim = tensors[tensor]->dimOf(index)) {
        group.extent = tensors[tensor]->shape[*dim];
        group.strides[tensor] = strides[tensor][*dim];
        carriers |= 1u << tensor;
      }
    if (group.extent == 1)
      continue; // its stride is immaterial
    switch (carriers) {
    case 0b111:
      classes.batch.push_back(group);
      break;
    case 0b101:
      classes.m.push_back(group);
      break;
    case 0b110:
      classes.n.push_back(group);
      break;
    case 0b011:
      classes.k.push_back(group);
      break;
    default:
      return std::nullopt;
    }
  }
  for (auto *groups : {&classes.batch, &classes.m, &classes.n, &classes.k})
    merge(*groups);
  return classes;
}

/// Reads a matrix of `rows` x `columns` from one tensor: its leading dimension
/// and whether it is stored transposed. False if neither is contiguous.
bool readMatrix(const Group &rows, const Group &columns, Operand tensor,
                int64_t &leading, bool &transpose) {
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

rt::MatmulLoop loopOver(const Group &group) {
  return {group.extent, group.strides[A], group.strides[B], group.strides[C]};
}

/// The form with these groups as the matrix dimensions, if it is legal.
std::optional<MatmulForm> formWith(const Classes &classes, const Group &m,
                                   const Group &n, const Group &k) {
  MatmulForm form;
  bool transposeC = false;
  if (!readMatrix(m, k, A, form.lda, form.transposeA) ||
      !readMatrix(k, n, B, form.ldb, form.transposeB) ||
      !readMatrix(m, n, C, form.ldc, transposeC) || transposeC)
    return std::nullopt;
  form.m = m.extent;
  form.n = n.extent;
  form.k = k.extent;
  auto loops = [](llvm::ArrayRef<Group> groups, const Group &taken,
                  auto &into) {
    for (const Group &group : groups)
      if (group.strides != taken.strides)
        into.push_back(loopOver(group));
  };
  loops(classes.batch, Group{}, form.batch);
  loops(classes.m, m, form.batch);
  loops(classes.n, n, form.batch);
  loops(classes.k, k, form.accumulate);
  // Outermost first.
  llvm::sort(form.batch, [](const auto &x, const auto &y) {
    return x.strideC > y.strideC;
  });
  return form;
}

/// The largest legal form with the operands in this order.
std::optional<MatmulForm> bestForm(const Classes &classes) {
  static const Group one;
  auto options = [](llvm::ArrayRef<Group> groups) {
    return groups.empty() ? llvm::ArrayRef<Group>(one) : groups;
  };
  std::optional<MatmulForm> best;
  for (const Group &m : options(classes.m))
    for (const Group &n : options(classes.n))
      for (const Group &k : options(classes.k)) {
        std::optional<MatmulForm> form = formWith(classes, m, n, k);
        if (form && (!best ||
                     form->m * form->n * form->k > best->m * best->n * best->k))
          best = std::move(form);
      }
  return best;
}

void swapOperands(IndexStructure &structure) {
  std::swap(structure.operands[0], structure.operands[1]);
}

} // namespace

MatmulMatch tpsp::matchMatmul(const IndexStructure &structure) {
  MatmulMatch match;
  match.obstacle = MatmulObstacle::NotAProduct;
  if (structure.operands.size() != 2)
    return match;
  std::optional<Classes> classes = classify(structure);
  if (!classes || classes->k.empty())
    return match;
  // A dot product, or a batch of matrix-vector products: a loop nest reads
  // every element once and is as fast as memory.
  bool vectors = classes->m.empty() || classes->n.empty();
  if (vectors &&
      (!classes->batch.empty() || (classes->m.empty() && classes->n.empty())))
    return match;

  match.obstacle = MatmulObstacle::Layout;
  std::optional<MatmulForm> form = bestForm(*classes);
  IndexStructure mirrored = structure;
  swapOperands(mirrored);
  std::optional<MatmulForm> other = bestForm(*classify(mirrored));
  auto volume = [](const std::optional<MatmulForm> &candidate) {
    return candidate ? candidate->m * candidate->n * candidate->k : 0;
  };
  if (volume(other) > volume(form)) {
    form = std::move(other);
    match.isSwapped = true;
  }
  if (!form)
    return match;
  match.obstacle = MatmulObstacle::None;
  match.form = std::move(*form);
  return match;
}
