// Operations that change no element: views, requests and blocks.
#include "ViewOperations.h"

#include <algorithm>

using namespace tpsp::property;

using Builder = ProgramBuilder;

//===----------------------------------------------------------------------===//
// Views and requests
//===----------------------------------------------------------------------===//

bool tpsp::property::applyRename(Builder &b) {
  auto x = b.pick([&](ValueId v) { return !b.tensor(v).dims.empty(); });
  if (!x)
    return false;
  std::vector<Dim> dims = b.tensor(*x).dims;
  Dim &changed = b.random.of(dims);
  b.renamed.push_back(changed.name);
  changed = b.freshIndex(changed.extent);
  b.renamed.push_back(changed.name);
  b.add("rename", {*x}, dims, b.range(*x));
  return true;
}

bool tpsp::property::applySplit(Builder &b) {
  auto splits = [](const Dim &dim) { return dim.extent % 2 == 0; };
  auto x = b.pick([&](ValueId v) {
    const std::vector<Dim> &dims = b.tensor(v).dims;
    return dims.size() <= 4 && std::any_of(dims.begin(), dims.end(), splits);
  });
  if (!x)
    return false;
  std::vector<Dim> dims;
  bool done = false;
  for (const Dim &dim : b.tensor(*x).dims) {
    if (done || !splits(dim)) {
      dims.push_back(dim);
      continue;
    }
    done = true;
    int64_t minor = b.random.chance(0.7) ? 2 : dim.extent / 2;
    b.renamed.push_back(dim.name);
    for (int64_t extent : {dim.extent / minor, minor}) {
      dims.push_back(b.freshIndex(extent));
      b.renamed.push_back(dims.back().name);
    }
  }
  b.add("split", {*x}, dims, b.range(*x));
  return true;
}

bool tpsp::property::applyMerge(Builder &b) {
  auto x = b.pick([&](ValueId v) { return b.tensor(v).dims.size() >= 2; });
  if (!x)
    return false;
  std::vector<Dim> dims = b.tensor(*x).dims;
  unsigned at = b.random.below(dims.size() - 1);
  b.renamed.push_back(dims[at].name);
  b.renamed.push_back(dims[at + 1].name);
  dims[at] = b.freshIndex(dims[at].extent * dims[at + 1].extent);
  b.renamed.push_back(dims[at].name);
  dims.erase(dims.begin() + at + 1);
  b.add("merge", {*x}, dims, b.range(*x));
  return true;
}

bool tpsp::property::applyReshard(Builder &b) {
  auto x = b.pick();
  b.add("reshard", {*x}, b.tensor(*x).dims, b.range(*x));
  return true;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

bool tpsp::property::applyTake(Builder &b) {
  auto x = b.pick([&](ValueId v) { return !b.tensor(v).dims.empty(); });
  if (!x)
    return false;
  std::vector<Dim> dims = b.tensor(*x).dims;
  unsigned at = b.random.below(dims.size());
  Dim taken = dims[at];
  dims.erase(dims.begin() + at);
  b.add("take", {*x}, dims, b.range(*x),
        "{index = " + quoted(taken.name) +
            ", at = " + std::to_string(b.random.below(taken.extent)) + "}");
  return true;
}

/// Stacks a value with its tanh, perhaps with the value again.
bool tpsp::property::applyStack(Builder &b) {
  auto x = b.pick([&](ValueId v) {
    return b.tensor(v).dims.size() < 5 && b.tensor(v).elements() <= 500;
  });
  if (!x)
    return false;
  std::vector<Dim> dims = b.tensor(*x).dims;
  ValueId y = b.add("tanh", {*x}, dims, {1, false});
  std::vector<ValueId> operands = {*x, y, *x};
  operands.resize(2 + b.random.below(2));
  b.random.shuffle(operands);
  Dim position = b.freshIndex(int64_t(operands.size()));
  dims.insert(dims.begin() + b.random.below(dims.size() + 1), position);
  b.add("stack", operands, dims, {b.range(*x).magnitude + 1, false},
        "{index = " + quoted(position.name) + "}");
  return true;
}

/// Returns the indices of `x`, with a new one of `extent` in place of one of
/// them.
static std::optional<std::vector<Dim>>
withAnother(Builder &b, ValueId x, unsigned at, int64_t extent) {
  std::vector<Dim> dims = b.tensor(x).dims;
  dims[at] = b.freshIndex(extent);
  return b.isSmall(dims) ? std::make_optional(dims) : std::nullopt;
}

static std::string run(const Dim &index, const char *attribute, int64_t at) {
  return "{index = " + quoted(index.name) + ", " + attribute + " = " +
         std::to_string(at);
}

bool tpsp::property::applyConcat(Builder &b) {
  auto x = b.pick([&](ValueId v) { return !b.tensor(v).dims.empty(); });
  if (!x)
    return false;
  unsigned at = b.random.below(b.tensor(*x).dims.size());
  int64_t own = b.tensor(*x).dims[at].extent, more = 1 + b.random.below(3);
  auto other = withAnother(b, *x, at, more);
  auto dims = withAnother(b, *x, at, own + more);
  if (!other || !dims)
    return false;
  std::vector<ValueId> operands = {*x,
                                   b.argument(*other, b.random.chance(0.5))};
  b.random.shuffle(operands);
  b.add("concat", operands, *dims, {b.range(*x).magnitude + 1.5, false},
        "{index = " + quoted((*dims)[at].name) + "}");
  return true;
}

bool tpsp::property::applyCut(Builder &b) {
  auto x = b.pick([&](ValueId v) { return !b.tensor(v).dims.empty(); });
  if (!x)
    return false;
  unsigned at = b.random.below(b.tensor(*x).dims.size());
  Dim index = b.tensor(*x).dims[at];
  int64_t left = 1 + b.random.below(index.extent);
  auto dims = withAnother(b, *x, at, left);
  if (!dims)
    return false;
  b.add("cut", {*x}, *dims, b.range(*x),
        run(index, "from", b.random.below(index.extent - left + 1)) + "}");
  return true;
}

bool tpsp::property::applyPad(Builder &b) {
  auto x = b.pick([&](ValueId v) { return !b.tensor(v).dims.empty(); });
  if (!x)
    return false;
  unsigned at = b.random.below(b.tensor(*x).dims.size());
  int64_t more = b.random.below(4);
  auto dims = withAnother(b, *x, at, b.tensor(*x).dims[at].extent + more);
  if (!dims)
    return false;
  bool isZero = b.random.chance(0.5);
  b.add("pad", {*x}, *dims, {b.range(*x).magnitude, false},
        run((*dims)[at], "before", b.random.below(more + 1)) +
            (isZero ? "}" : ", value = 0.75 : f64}"));
  if (isZero)
    b.program.operations.back().linear = Linear::Jointly;
  return true;
}
