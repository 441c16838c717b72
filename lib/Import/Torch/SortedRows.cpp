#include "SortedRows.h"
#include "Refusal.h"

#include <algorithm>

using namespace tpsp::import;
using namespace tpsp::import::torch;

using Results = std::vector<Tensor>;
using Kind = SortRole::Kind;

static bool isRows(const Tensor &tensor) {
  return tensor.role &&
         (tensor.role->kind == Kind::Rows || tensor.role->kind == Kind::Keys);
}

static bool isKind(const Tensor &tensor, Kind kind) {
  return tensor.role && tensor.role->kind == kind;
}

bool torch::hasSorted(const Call &call) {
  Results all = call.tensors();
  return std::any_of(all.begin(), all.end(),
                     [](const Tensor &one) { return one.role.has_value(); });
}

/// A tensor of this role, whose elements are not known.
static Tensor unknown(const Call &call, Kind kind, const SortRole &of) {
  Tensor out;
  out.constant = Constant::filled(call.result().type, call.result().sizes, 0);
  out.role = SortRole{kind, of.sort};
  return out;
}

//===----------------------------------------------------------------------===//
// Operations that know the sort
//===----------------------------------------------------------------------===//

/// Whether these are the numbers of all rows, before the sort.
static bool isEveryRow(const Tensor &ids, int64_t rows) {
  if (!ids.constant || ids.constant->sizes() != Sizes{rows})
    return false;
  for (int64_t i = 0; i < rows; ++i)
    if (ids.constant->at({i}) != static_cast<double>(i))
      return false;
  return true;
}

static std::optional<Tensor> onlyIndex(const Call &call) {
  auto indices = call.tensors("indices");
  return indices.size() == 1 ? indices.front() : std::nullopt;
}

/// Sorted rows at the places to which the sort took them.
static std::optional<Results> restored(Call &call) {
  Tensor x = call.tensor("self");
  std::optional<Tensor> ids = onlyIndex(call);
  if (!ids || !isRows(x) || !isKind(*ids, Kind::Inverse) ||
      ids->role->sort != x.role->sort)
    return {};
  x.role.reset();
  return Results{x};
}

/// inverse[places] = 0, 1, 2, ..., where `places` is the row at each place of
/// the sort.
static std::optional<Results> inverse(Call &call) {
  std::optional<Tensor> places = onlyIndex(call);
  Tensor values = call.tensor("values");
  int64_t rows = call.result().sizes.empty() ? 0 : call.result().sizes[0];
  if (!places || !isRows(*places) || !isEveryRow(*places, rows) ||
      values.role || !isEveryRow(values, rows) || call.flag("accumulate"))
    return {};
  call.tensor("self"); // Every element is replaced.
  return Results{unknown(call, Kind::Inverse, *places->role)};
}

/// How often each of 0, 1, ..., bins - 1 occurs among the keys.
static std::optional<Results> counted(Call &call) {
  Tensor keys = call.tensor("self");
  auto bins = static_cast<double>(call.integer("bins"));
  if (!isKind(keys, Kind::Keys) || bins < 2 || call.number("min") != 0 ||
      call.number("max") != bins - 1)
    return {};
  return Results{unknown(call, Kind::Counts, *keys.role)};
}

static std::optional<Results> ends(Call &call) {
  Tensor counts = call.tensor("self");
  if (!isKind(counts, Kind::Counts))
    return {};
  call.dim("dim", 1);
  return Results{unknown(call, Kind::Ends, *counts.role)};
}

/// Row i of x by the matrix that its key names: matrices[e, d, f].
static Tensor groupedProduct(Call &call, Tensor x, Tensor matrices,
                             Tensor keys) {
  Builder &build = call.build;
  build.align(x, 1, matrices, 1);
  build.align(x, 0, keys, 0);
  matrices = build.single(matrices, 0);
  AtomList taken = build.atomsOf(x.dims);
  build.makeDistinct(taken, matrices, 0);
  build.makeDistinct(taken, matrices, 2);
  Atom experts = build.program.atoms.leaves(matrices.dims[0]).front();
  if (auto from = call.positionsAlong(keys))
    if (AtomList leaves = build.program.atoms.leaves(*from); leaves.size() == 1)
      build.program.atoms.unify(leaves.front(), experts);
  experts = build.program.atoms.leaves(experts).front();
  Tensor out;
  out.type = call.result().type;
  out.dims = {x.dims[0], matrices.dims[2]};
  AtomList apart = build.atomsOf(out.dims);
  apart.push_back(experts);
  build.program.atoms.keepApart(apart);
  out.value = build.emitValue(
      "one_hot_einsum", {keys.value, matrices.value, x.value},
      build.atomsOf(out.dims), build.elementOf(x),
      {{"indices", IndexAttribute{{experts}, /*isList=*/true}}});
  return out;
}

static std::optional<Results> grouped(Call &call, const char *rows,
                                      const char *matrices) {
  Tensor x = call.tensor(rows), w = call.tensor(matrices),
         ends = call.tensor("offs");
  if (!isRows(x) || w.role || !isKind(ends, Kind::Ends) ||
      ends.role->sort != x.role->sort || call.build.sizes(w).size() != 3 ||
      call.build.sizes(x).size() != 2)
    return {};
  // A key from the number of matrices on has no matrix, and the result 0.
  if (call.build.sizes(ends) != Sizes{call.build.sizes(w)[0]})
    return {};
  Tensor out =
      groupedProduct(call, call.lifted(x), call.lifted(w), x.role->sort->keys);
  out.role = SortRole{Kind::Rows, x.role->sort};
  return Results{out};
}

/// Nothing if the operation is no such one, or not of such operands.
static std::optional<Results> knowing(Call &call, const std::string &name) {
  if (name == "index.Tensor")
    return restored(call);
  if (name == "index_put")
    return inverse(call);
  if (name == "histc")
    return counted(call);
  if (name == "cumsum")
    return ends(call);
  if (name == "transformers.grouped_mm_fallback")
    return grouped(call, "input", "weight");
  if (name == "_grouped_mm")
    return grouped(call, "self", "mat2");
  return {};
}

//===----------------------------------------------------------------------===//
// Operations on each row by itself
//===----------------------------------------------------------------------===//

/// Whether all sorted operands have their rows where the result has them, and
/// the others are the same for all rows.
static bool isRowWise(const Call &call) {
  Sizes result = call.result().sizes;
  for (const Tensor &one : call.tensors()) {
    Sizes sizes = call.build.sizes(one);
    bool isSorted = isRows(one);
    if (isSorted && (sizes.size() != result.size() || sizes[0] != result[0]))
      return false;
    bool isSame = sizes.size() < result.size() || sizes[0] == 1 ||
                  (one.constant && !one.constant->varies(0));
    if (!isSorted && !isSame)
      return false;
  }
  return true;
}

/// Whether only the operand `name` is sorted, and has the result's rows.
static bool isOnly(const Call &call, const char *name) {
  Tensor sorted = call.tensor(name);
  if (!isRows(sorted) || call.result().sizes.empty() ||
      call.build.sizes(sorted)[0] != call.result().sizes[0])
    return false;
  Results all = call.tensors();
  return std::count_if(all.begin(), all.end(), [](const Tensor &one) {
           return one.role.has_value();
         }) == 1;
}

/// Whether an operation of one operand works along other dimensions than that
/// of rows.
static bool isAlongOthers(const Call &call, const char *operand,
                          const char *dims) {
  size_t rank = call.build.sizes(call.tensor(operand)).size();
  std::vector<size_t> all = call.dims(dims, rank);
  return isOnly(call, operand) &&
         std::find(all.begin(), all.end(), 0) == all.end();
}

static bool isIn(const Operators &operators, const std::string &name) {
  return std::any_of(operators.begin(), operators.end(),
                     [&](const Operator &one) { return one.name == name; });
}

/// Whether the operation keeps each row's elements together.
static bool keepsRows(const Call &call, const std::string &name) {
  if (name == "view" || name == "_unsafe_view" || name == "reshape")
    return isOnly(call, "self");
  if (name == "unsqueeze") {
    size_t rank = call.build.sizes(call.tensor("self")).size();
    return call.dim("dim", rank + 1) > 0;
  }
  if (name == "transpose.int") {
    size_t rank = call.build.sizes(call.tensor("self")).size();
    return call.dim("dim0", rank) > 0 && call.dim("dim1", rank) > 0;
  }
  for (const char *one :
       {"slice.Tensor", "select.int", "split.Tensor", "split_with_sizes",
        "chunk", "unbind.int", "softmax.int", "_softmax", "sum.dim_IntList",
        "mean.dim"})
    if (name == one)
      return isAlongOthers(call, "self", "dim");
  return false;
}

static bool isOfRows(const Call &call, const std::string &name) {
  if (name == "dropout")
    return false;
  if (isIn(pointwiseOperators(), name) || isIn(angleOperators(), name) ||
      isIn(logicOperators(), name) || name == "empty_like" ||
      name == "zeros_like" || name == "ones_like")
    return isRowWise(call);
  if (name == "index.Tensor")
    return call.tensors("indices").size() == 1 && !call.tensor("self").role &&
           onlyIndex(call) && isRows(*onlyIndex(call));
  if (name == "embedding")
    return isOnly(call, "indices");
  if (name == "linear")
    return isOnly(call, "input") &&
           call.build.sizes(call.tensor("input")).size() > 1;
  if (name == "layer_norm" || name == "rms_norm")
    return isOnly(call, "input") &&
           call.build.sizes(call.tensor("input")).size() >
               call.list("normalized_shape").size();
  return keepsRows(call, name);
}

/// Conversions of keys are keys.
static bool isConversion(const std::string &name) {
  return name == "_to_copy" || name == "to.dtype" || name == "clone" ||
         name == "alias";
}

std::vector<Tensor>
torch::ofSorted(Call &call, const std::string &operation,
                const std::function<std::vector<Tensor>()> &compute) {
  if (operation == "_assert_tensor_metadata")
    return compute();
  if (auto known = knowing(call, operation))
    return *known;
  std::optional<SortRole> role;
  for (const Tensor &one : call.tensors()) {
    if (!one.role)
      continue;
    if (!isRows(one) || (role && role->sort != one.role->sort))
      refuse("uses the order of a sort in a way that is not known");
    role = *one.role;
  }
  if (!isOfRows(call, operation))
    refuse("depends on the order of a sort by integers");
  if (!isConversion(operation))
    role->kind = Kind::Rows;
  Results results = compute();
  for (Tensor &one : results)
    one.role = role;
  return results;
}
