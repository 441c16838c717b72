// Operations with integer operands or results, one entry each.
#include "ProgramBuilder.h"

#include <algorithm>

using namespace tpsp::property;

using Builder = ProgramBuilder;

/// Returns the bound of the integers. Now and then it admits one position past
/// the end, which selects nothing.
static int64_t boundOf(Builder &b, const Dim &selected) {
  return selected.extent + (b.random.chance(0.25) ? 1 : 0);
}

static void remove(std::vector<Dim> &dims, const std::string &name) {
  dims.erase(std::remove_if(dims.begin(), dims.end(),
                            [&](const Dim &dim) { return dim.name == name; }),
             dims.end());
}

static bool applyEmbedding(Builder &b) {
  std::vector<Dim> dims = b.someIndices(1 + b.random.below(2));
  std::vector<Dim> columns = b.someIndices(1 + b.random.below(2));
  for (const Dim &dim : dims)
    remove(columns, dim.name);
  Dim vocabulary = b.freshIndex(b.random.chance(0.5) ? 8 : 6);
  std::vector<Dim> table = columns, result = dims;
  table.push_back(vocabulary);
  b.random.shuffle(table);
  result.insert(result.end(), columns.begin(), columns.end());
  if (!b.isSmall(result))
    return false;
  ValueId ids = b.integers(dims, boundOf(b, vocabulary));
  ValueId w = b.argument(table, /*isParameter=*/true);
  b.add("embedding", {ids, w}, result, b.range(w),
        "{vocabulary = " + quoted(vocabulary.name) + "}");
  return true;
}

/// Looks up positions along an index of x. The result has the integers' indices
/// in its place.
static bool applyLookup(Builder &b) {
  auto x = b.pick([&](ValueId v) { return !b.tensor(v).dims.empty(); });
  if (!x)
    return false;
  std::vector<Dim> dims = b.tensor(*x).dims;
  Dim selected = b.random.of(dims);
  remove(dims, selected.name);
  // The integers have some indices of x and perhaps others.
  std::vector<Dim> where;
  for (const Dim &dim : dims)
    if (b.random.chance(0.5))
      where.push_back(dim);
  if (where.empty() || b.random.chance(0.5))
    where.push_back(b.freshIndex(b.random.chance(0.5) ? 4 : 3));
  std::vector<Dim> result = where;
  for (const Dim &dim : dims)
    if (std::none_of(where.begin(), where.end(),
                     [&](const Dim &has) { return has.name == dim.name; }))
      result.push_back(dim);
  if (!b.isSmall(where) || !b.isSmall(result))
    return false;
  b.random.shuffle(result);
  ValueId ids = b.integers(where, boundOf(b, selected));
  b.add("one_hot_einsum", {ids, *x}, result, b.range(*x),
        "{indices = [" + quoted(selected.name) + "]}");
  return true;
}

/// Adds x up at the positions that integers give along a new index.
static bool applyWrite(Builder &b) {
  auto x = b.pick([&](ValueId v) {
    return !b.tensor(v).dims.empty() && b.range(v).magnitude < 50;
  });
  if (!x)
    return false;
  std::vector<Dim> dims = b.tensor(*x).dims;
  b.random.shuffle(dims);
  // Indices of the integers may be summed.
  std::vector<Dim> where(dims.begin(),
                         dims.begin() + 1 + b.random.below(dims.size()));
  std::vector<Dim> result(dims.begin() + where.size(), dims.end());
  double terms = 1;
  for (const Dim &dim : where) {
    if (b.random.chance(0.4))
      result.push_back(dim);
    else
      terms *= double(dim.extent);
  }
  Dim written = b.freshIndex(b.random.chance(0.5) ? 4 : 6);
  result.push_back(written);
  if (!b.isSmall(result) || b.range(*x).magnitude * terms > largest)
    return false;
  b.random.shuffle(result);
  ValueId ids = b.integers(where, boundOf(b, written));
  b.add("one_hot_einsum", {ids, *x}, result,
        {b.range(*x).magnitude * terms, false},
        "{indices = [" + quoted(written.name) + "]}");
  return true;
}

/// Multiplies each row of x by the matrix that its integer chooses. Now and
/// then makes such matrices from two tensors of rows.
static bool applyGroupedProduct(Builder &b) {
  auto x = b.pick([&](ValueId v) {
    return b.tensor(v).dims.size() >= 2 && b.range(v).magnitude < 50;
  });
  if (!x)
    return false;
  std::vector<Dim> dims = b.tensor(*x).dims;
  b.random.shuffle(dims);
  Dim summed = dims.back();
  dims.pop_back();
  // Matrices may share indices with the rows: then there are blocks of
  // matrices.
  std::vector<Dim> blocks(dims.begin() + 1,
                          dims.begin() + 1 + b.random.below(dims.size()));
  Dim chosen = b.freshIndex(b.random.chance(0.5) ? 4 : 3);
  Dim made = b.freshIndex(b.random.chance(0.5) ? 6 : 3);
  bool writes = b.random.chance(0.3);
  std::vector<Dim> matrices = blocks, rows = dims;
  matrices.insert(matrices.end(), {chosen, made, summed});
  rows.push_back(made);
  if (!b.isSmall(matrices) || !b.isSmall(rows))
    return false;
  if (b.random.chance(0.5)) {
    b.random.shuffle(matrices);
    b.random.shuffle(rows);
  }
  double terms = writes ? 1 : double(summed.extent);
  for (const Dim &dim : dims)
    terms *= writes ? double(dim.extent) : 1;
  if (b.range(*x).magnitude * terms > largest)
    return false;
  ValueId ids = b.integers(dims, boundOf(b, chosen));
  ValueId other = b.argument(writes ? rows : matrices, /*isParameter=*/!writes);
  b.add("one_hot_einsum", {ids, other, *x}, writes ? matrices : rows,
        {b.range(*x).magnitude * b.range(other).magnitude * terms, false},
        "{indices = [" + quoted(chosen.name) + "]}");
  return true;
}

/// Labels with these indices, some of them negative: an integer that is none of
/// the counted values is -1.
static ValueId labels(Builder &b, const std::vector<Dim> &dims) {
  Dim over = b.random.of(dims);
  ValueId ids = b.integers(dims, 4);
  return b.addIntegers("count_earlier", {ids}, dims, over.extent,
                       "{over = [" + quoted(over.name) + "], values = 2}");
}

static bool applyLabelMask(Builder &b) {
  auto x = b.pick([&](ValueId v) { return !b.tensor(v).dims.empty(); });
  if (!x)
    return false;
  std::vector<Dim> dims = b.tensor(*x).dims;
  b.random.shuffle(dims);
  if (dims.size() > 1 && b.random.chance(0.5))
    dims.pop_back();
  b.add("label_mask", {*x, labels(b, dims)}, b.tensor(*x).dims,
        {b.range(*x).magnitude, false});
  return true;
}

/// The mean of those elements that labels count.
static bool applyCountedMean(Builder &b) {
  auto x = b.pick([&](ValueId v) { return !b.tensor(v).dims.empty(); });
  if (!x)
    return false;
  std::vector<Dim> dims = b.tensor(*x).dims, kept = dims;
  b.random.shuffle(dims);
  remove(kept, dims.front().name);
  if (b.random.chance(0.5))
    kept.clear();
  if (dims.size() > 1 && b.random.chance(0.5))
    dims.pop_back();
  b.add("mean", {*x, labels(b, dims)}, kept, {b.range(*x).magnitude, false});
  return true;
}

static bool applyCrossEntropy(Builder &b) {
  auto x = b.pick([&](ValueId v) {
    return !b.tensor(v).dims.empty() && b.range(v).magnitude < 20;
  });
  if (!x)
    return false;
  std::vector<Dim> dims = b.tensor(*x).dims;
  Dim over = b.random.of(dims);
  remove(dims, over.name);
  bool hasLabels = !dims.empty() && b.random.chance(0.5);
  ValueId targets = hasLabels ? labels(b, dims) : b.integers(dims, over.extent);
  b.add("cross_entropy", {*x, targets}, dims,
        {b.range(*x).magnitude + 5, false},
        "{over = " + quoted(over.name) + "}");
  return true;
}

static bool applySegmentMask(Builder &b) {
  auto x = b.pick([&](ValueId v) { return b.tensor(v).dims.size() >= 2; });
  if (!x)
    return false;
  std::vector<Dim> dims = b.tensor(*x).dims;
  b.random.shuffle(dims);
  ValueId one = b.integers({dims[0]}, 2), other = b.integers({dims[1]}, 2);
  b.add("segment_mask", {*x, one, other}, b.tensor(*x).dims,
        {b.range(*x).magnitude, false}, "{fill = 0.25 : f64}");
  return true;
}

static bool applyLengthMask(Builder &b) {
  auto x = b.pick([&](ValueId v) { return !b.tensor(v).dims.empty(); });
  if (!x)
    return false;
  std::vector<Dim> dims = b.tensor(*x).dims;
  Dim along = b.random.of(dims);
  remove(dims, along.name);
  if (!dims.empty() && b.random.chance(0.5))
    dims.pop_back();
  ValueId lengths = b.integers(dims, along.extent + 1);
  b.add("length_mask", {*x, lengths}, b.tensor(*x).dims,
        {b.range(*x).magnitude, false},
        "{index = " + quoted(along.name) + ", fill = 0.25 : f64}");
  return true;
}

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//

namespace {

/// The indices of a mixture of experts on x[groups, tokens, features].
struct Routing {
  std::vector<Dim> groups, tokens, features;
  Dim expert, choice, slot;

  std::vector<Dim> integers() const {
    std::vector<Dim> dims = groups;
    dims.insert(dims.end(), tokens.begin(), tokens.end());
    dims.push_back(choice);
    return dims;
  }
  std::vector<Dim> slots() const {
    std::vector<Dim> dims = {expert};
    dims.insert(dims.end(), groups.begin(), groups.end());
    dims.push_back(slot);
    dims.insert(dims.end(), features.begin(), features.end());
    return dims;
  }
};

} // namespace

static Routing randomRouting(Builder &b, ValueId x) {
  std::vector<Dim> dims = b.tensor(x).dims;
  b.random.shuffle(dims);
  Routing routing;
  routing.tokens = {dims[0]};
  for (size_t i = 1; i < dims.size(); ++i)
    (b.random.chance(0.5) ? routing.groups : routing.features)
        .push_back(dims[i]);
  routing.expert = b.freshIndex(4);
  routing.choice = b.freshIndex(1 + b.random.below(2));
  routing.slot = b.freshIndex(1 + b.random.below(3));
  return routing;
}

/// Whether many scores may be equal, so that finite differences change choices.
static bool tiesMatter(const Builder &b) {
  return b.program.grad &&
         (b.program.element == "bf16" || b.program.element == "f16");
}

/// Makes the choices: an argument, or the largest of some scores. Scores are
/// arguments, so that no rounding changes a choice.
static ValueId chooseExperts(Builder &b, const Routing &routing) {
  if (tiesMatter(b) || b.random.chance(0.4))
    return b.integers(routing.integers(), routing.expert.extent);
  std::vector<Dim> dims = routing.integers();
  dims.back() = routing.expert;
  b.random.shuffle(dims);
  ValueId scores = b.argument(dims, /*isParameter=*/false);
  return b.addIntegers("router", {scores}, routing.integers(),
                       routing.expert.extent,
                       "{expert = " + quoted(routing.expert.name) +
                           ", choice = " + quoted(routing.choice.name) + "}");
}

/// Dispatches tokens to experts, applies something there, and mostly combines
/// the results.
static bool applyExperts(Builder &b) {
  auto x = b.pick([&](ValueId v) { return !b.tensor(v).dims.empty(); });
  if (!x)
    return false;
  Routing routing = randomRouting(b, *x);
  if (!b.isSmall(routing.slots()) || !b.isSmall(routing.integers()))
    return false;
  std::string attributes = "{expert = " + quoted(routing.expert.name) +
                           ", slot = " + quoted(routing.slot.name) +
                           ", choice = " + quoted(routing.choice.name) + "}";
  ValueId ids = chooseExperts(b, routing);
  ValueId y =
      b.add("dispatch", {ids, *x}, routing.slots(), b.range(*x), attributes);
  if (b.random.chance(0.3))
    return true;
  y = b.add("tanh", {y}, routing.slots(), {1, false});
  ValueId weights = b.argument(routing.integers(), /*isParameter=*/false);
  b.add("combine", {ids, weights, y}, b.tensor(*x).dims, {4, false},
        attributes);
  return true;
}

/// Dispatches tokens to rows of blocks of experts, where each row is multiplied
/// by its expert's matrix.
static bool applyBlocks(Builder &b) {
  auto x = b.pick([&](ValueId v) {
    return b.tensor(v).dims.size() >= 2 && b.range(v).magnitude < 50;
  });
  if (!x)
    return false;
  Routing routing = randomRouting(b, *x);
  if (routing.features.empty())
    return false;
  Dim block = b.freshIndex(b.random.chance(0.5) ? 2 : 4);
  Dim each = b.freshIndex(1 + b.random.below(3));
  bool hasBlocks = b.random.chance(0.7);
  routing.expert.extent = each.extent * (hasBlocks ? block.extent : 1);
  // A token has at most as many choices as there are experts.
  routing.choice.extent =
      std::min(routing.choice.extent, routing.expert.extent);
  std::vector<Dim> load = routing.groups, rows = routing.groups;
  std::vector<Dim> ids = routing.integers();
  std::string of = quoted(each.name), over = quoted(routing.choice.name);
  if (hasBlocks) {
    load.push_back(block);
    rows.push_back(block);
    of = quoted(block.name) + ", " + of;
  }
  load.push_back(each);
  rows.push_back(routing.slot);
  for (const Dim &dim : routing.tokens)
    over += ", " + quoted(dim.name);
  std::vector<Dim> tokens = rows;
  tokens.insert(tokens.end(), routing.features.begin(), routing.features.end());
  if (!b.isSmall(tokens) || !b.isSmall(ids))
    return false;
  ValueId choice = chooseExperts(b, routing);
  ValueId counts =
      b.addIntegers("count_values", {choice}, load, ids.size() * 100,
                    "{over = [" + over + "], of = [" + of + "]}");
  ValueId whose = b.addIntegers("runs", {counts}, rows, each.extent,
                                "{of = " + quoted(each.name) + ", along = " +
                                    quoted(routing.slot.name) + "}");
  std::string attributes = "{expert = " + quoted(each.name) +
                           ", slot = " + quoted(routing.slot.name) +
                           ", choice = " + quoted(routing.choice.name) + "}";
  ValueId y =
      b.add("dispatch", {choice, counts, *x}, tokens, b.range(*x), attributes);
  Dim summed = routing.features.back(), made = b.freshIndex(3);
  std::vector<Dim> matrices = {each, made, summed};
  std::vector<Dim> through = tokens;
  through.back() = made;
  ValueId w = b.argument(matrices, /*isParameter=*/true);
  y = b.add(
      "one_hot_einsum", {whose, w, y}, through,
      {b.range(*x).magnitude * b.range(w).magnitude * double(summed.extent),
       false},
      "{indices = [" + quoted(each.name) + "]}");
  if (b.random.chance(0.3))
    return true;
  y = b.add("tanh", {y}, through, {1, false});
  ValueId weights = b.argument(ids, /*isParameter=*/false);
  std::vector<Dim> result = b.tensor(*x).dims;
  for (Dim &dim : result)
    if (dim.name == summed.name)
      dim = made;
  b.add("combine", {choice, counts, weights, y}, result, {4, false},
        attributes);
  return true;
}

/// Adds a router on an argument, and looks up the scores that it chooses.
static bool applyRouter(Builder &b) {
  if (tiesMatter(b))
    return false;
  auto x = b.pick([&](ValueId v) {
    return b.program.argument(v) && !b.tensor(v).dims.empty();
  });
  if (!x)
    return false;
  std::vector<Dim> dims = b.tensor(*x).dims;
  Dim expert = b.random.of(dims);
  remove(dims, expert.name);
  Dim choice = b.freshIndex(1 + b.random.below(expert.extent));
  dims.push_back(choice);
  ValueId ids = b.addIntegers("router", {*x}, dims, expert.extent,
                              "{expert = " + quoted(expert.name) +
                                  ", choice = " + quoted(choice.name) + "}");
  b.add("one_hot_einsum", {ids, *x}, dims, b.range(*x),
        "{indices = [" + quoted(expert.name) + "]}");
  return true;
}

const std::vector<OperationRule> &tpsp::property::integerRules() {
  static const std::vector<OperationRule> rules = {
      {"embedding", 5, Linear::InEach, false, applyEmbedding},
      {"one_hot_einsum", 4, Linear::InEach, true, applyLookup},
      {"one_hot_einsum", 3, Linear::InEach, true, applyWrite},
      {"one_hot_einsum", 4, Linear::InEach, true, applyGroupedProduct},
      {"cross_entropy", 4, Linear::No, true, applyCrossEntropy},
      {"dispatch", 4, Linear::No, true, applyExperts},
      {"dispatch", 4, Linear::No, true, applyBlocks},
      {"router", 2, Linear::No, true, applyRouter},
      {"label_mask", 3, Linear::InEach, false, applyLabelMask},
      {"mean", 3, Linear::InEach, false, applyCountedMean},
      {"segment_mask", 2, Linear::No, false, applySegmentMask},
      {"length_mask", 2, Linear::No, false, applyLengthMask},
      attentionRule(/*hasIntegers=*/true),
  };
  return rules;
}
