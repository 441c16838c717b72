#include "Strategy.h"
#include "tpsp/Abi/InvalidStatus.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <sstream>

using namespace tpsp;
using namespace tpsp::import;
using rt::invalid;
using rt::Status;

using Names = std::vector<std::string>;

/// The indices of experts and of blocks of experts.
static constexpr const char *experts = "x", *blocksOfExperts = "xb";

/// The axis along which key/value heads are copied.
static constexpr const char *copies = "rep";

struct Strategy::Part {
  Names names;
  PlacedAxis axis;
  Names tokens, activations, parameters;
  /// Parameters with fewer indices stay whole.
  size_t minimumRank = 1;

  bool divides(Where where, const std::string &index, size_t rank) const;
};

/// The parts, in the order of the mesh's axes.
const std::vector<Strategy::Part> &Strategy::table() {
  static const std::vector<Part> rows = {
      {{"pp"}, {"pp", "stage", 2}, {}, {}, {}},
      {{"dp", "ddp"}, {"dp", "data", 2}, {"b"}, {"b"}, {}},
      {{"fsdp"}, {"fsdp", "data", 2}, {"b"}, {"b"}, {"d"}, 2},
      {{"cp"}, {"cp", "data", 2}, {"s"}, {"s"}, {}},
      {{"ep"}, {"ep", "model", 2}, {"b"}, {"b"}, {"x"}},
      {{"tp"},
       {"tp", "model", 2},
       {},
       {},
       {"q", "kv", "o", "e", "es", "f", "v"}},
      {{"sp"}, {"tp", "model", 2}, {}, {"s"}, {}},
  };
  return rows;
}

static bool contains(const Names &names, const std::string &name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

static Names splitAt(const std::string &text, char separator) {
  Names pieces;
  std::istringstream stream(text);
  for (std::string piece; std::getline(stream, piece, separator);)
    pieces.push_back(piece);
  return pieces;
}

Status Strategy::add(const std::string &name) {
  if (name == "hsdp") {
    TPSP_TRY(add("dp"));
    return add("fsdp");
  }
  Names known;
  for (const Part &part : table()) {
    known.push_back(part.names.front());
    if (!contains(part.names, name))
      continue;
    if (std::find(parts.begin(), parts.end(), &part) != parts.end())
      return invalid("--place has '{}' twice, and one axis @{}; name each "
                     "part once",
                     name, part.axis.name);
    parts.push_back(&part);
    return {};
  }
  return invalid("--place knows no '{}'; a strategy is made of {}, with "
                 "'-' between: tp-sp-fsdp",
                 name, fmt::join(known, ", "));
}

static Names axisNames(const std::vector<PlacedAxis> &axes) {
  Names names;
  for (const PlacedAxis &axis : axes)
    names.push_back(axis.name);
  return names;
}

Status Strategy::setSizes(const std::string &mesh) {
  for (const std::string &entry : splitAt(mesh, ',')) {
    size_t equals = std::min(entry.find('='), entry.size());
    std::string name = entry.substr(0, equals);
    auto axis = std::find_if(axes.begin(), axes.end(),
                             [&](const auto &one) { return one.name == name; });
    int64_t size = 0;
    const char *end = entry.data() + entry.size();
    auto [rest, error] = std::from_chars(
        entry.data() + std::min(equals + 1, entry.size()), end, size);
    if (axis == axes.end())
      return invalid("--mesh '{}' is not AXIS=RANKS of an axis that --place "
                     "has; it has {}",
                     entry, fmt::join(axisNames(axes), ", "));
    if (error != std::errc() || rest != end || size < 1)
      return invalid("--mesh '{}' gives @{} no ranks from 1 on, as {}=4 does",
                     entry, name, name);
    axis->size = size;
  }
  return {};
}

Status Strategy::parse(const std::string &strategy, const std::string &mesh,
                       Strategy &out) {
  out = {};
  if (strategy.empty() && !mesh.empty())
    return invalid("--mesh needs --place, which says what each axis "
                   "divides");
  for (const std::string &name : splitAt(strategy, '-'))
    TPSP_TRY(out.add(name));
  for (const Part &row : table())
    if (std::find(out.parts.begin(), out.parts.end(), &row) !=
            out.parts.end() &&
        out.sizeOf(row.axis.name) == 0)
      out.axes.push_back(row.axis);
  return out.setSizes(mesh);
}

const PlacedAxis *Strategy::find(const std::string &axis) const {
  for (const PlacedAxis &one : axes)
    if (one.name == axis)
      return &one;
  return nullptr;
}

int64_t Strategy::sizeOf(const std::string &axis) const {
  const PlacedAxis *found = find(axis);
  return found ? found->size : 0;
}

/// "2, 5 and 10 work": the numbers of ranks, more than one, over which heads
/// can be spread. Either they divide the key/value heads, or each of these has
/// several ranks, which divide its queries.
static std::string fittingRanks(int64_t keyValueHeads, int64_t queriesPerHead) {
  std::vector<int64_t> counts;
  for (int64_t ranks = 2; ranks <= keyValueHeads; ++ranks)
    if (keyValueHeads % ranks == 0)
      counts.push_back(ranks);
  for (int64_t each = 2; each <= queriesPerHead; ++each)
    if (queriesPerHead % each == 0)
      counts.push_back(keyValueHeads * each);
  if (counts.empty())
    return "no other number works";
  if (counts.size() == 1)
    return fmt::format("{} works", counts.front());
  int64_t last = counts.back();
  counts.pop_back();
  return fmt::format("{} and {} work", fmt::join(counts, ", "), last);
}

Status Strategy::spreadHeads(int64_t keyValueHeads, int64_t queriesPerHead) {
  int64_t ranks = sizeOf("tp");
  if (ranks == 0 || keyValueHeads % ranks == 0)
    return {};
  int64_t each = ranks / keyValueHeads;
  if (ranks % keyValueHeads != 0 || queriesPerHead % each != 0)
    return {
        TPSP_RT_INVALID,
        fmt::format("--mesh tp={} cannot divide {} key/value heads of {} query "
                    "head{} each; {}; or import for tp=1, and run "
                    "with --mesh tp={} --pad g={}",
                    ranks, keyValueHeads, queriesPerHead,
                    queriesPerHead == 1 ? "" : "s",
                    fittingRanks(keyValueHeads, queriesPerHead), ranks, ranks)};
  for (PlacedAxis &axis : axes)
    if (axis.name == "tp")
      axis.size = keyValueHeads;
  axes.push_back({copies, "model", each});
  isSpread = true;
  return {};
}

std::vector<PlacedAxis> Strategy::asGiven() const {
  std::vector<PlacedAxis> given = axes;
  if (!isSpread)
    return given;
  int64_t each = given.back().size;
  given.pop_back();
  for (PlacedAxis &axis : given)
    axis.size *= axis.name == "tp" ? each : 1;
  return given;
}

int64_t Strategy::expertRanks() const {
  return std::max<int64_t>(1, sizeOf("ep"));
}

bool Strategy::decides(Where where) const {
  if (where == Where::Slots || where == Where::Choices)
    return sizeOf("ep") > 0;
  return where != Where::Open;
}

bool Strategy::Part::divides(Where where, const std::string &index,
                             size_t rank) const {
  bool ofParameter = rank >= minimumRank && contains(parameters, index);
  switch (where) {
  case Where::Open:
    return false;
  case Where::Tokens:
  case Where::Choices:
    return contains(tokens, index);
  case Where::Activation:
    return contains(activations, index);
  case Where::Parameter:
    return ofParameter;
  case Where::Slots:
    // An axis of experts divides experts here, and tokens elsewhere.
    if (contains(parameters, experts))
      return index == experts || index == blocksOfExperts;
    return contains(activations, index);
  case Where::Logits:
    return contains(tokens, index) || (index == "v" && ofParameter);
  }
  return false;
}

std::vector<PlacedAxis> Strategy::axesOf(Where where, const std::string &index,
                                         size_t rank) const {
  std::vector<PlacedAxis> found;
  for (const PlacedAxis &axis : axes)
    for (const Part *part : parts) {
      if (part->axis.name != axis.name || !part->divides(where, index, rank))
        continue;
      found.push_back(axis);
      if (isSpread && axis.name == "tp" && index != "kv" && index != "g")
        found.push_back(*find(copies));
    }
  return found;
}
