#include "tpsp/Check/Names.h"

#include "ExtentText.h"
#include "Form.h"
#include "NameEntry.h"

#include "tpsp/Abi/FileHandle.h"
#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Abi/JsonReader.h"
#include "tpsp/Runtime/Driver/Tensors/Safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

using namespace tpsp;
using namespace tpsp::check;
using rt::invalid;
using rt::quotedName;
using rt::Status;

NameMap::NameMap() = default;
NameMap::NameMap(NameMap &&) noexcept = default;
NameMap &NameMap::operator=(NameMap &&) noexcept = default;
NameMap::~NameMap() = default;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace tpsp::check {

/// Extents: numbers, or texts of ExtentText.h.
struct ExtentsField {
  ExtentTexts &texts;
};
struct ExtentField {
  std::string &text;
};
/// Names; null, an empty name, leaves a part out.
struct NamesField {
  std::vector<std::string> &names;
};
/// A dimension of a tensor, and a list of them.
static constexpr Rule dimension{1, 0, 64};
static constexpr Rule dimensions{1, 0, 64, /*isRequired=*/false};

static void readJson(const OrderedJson &value, const JsonPath &path, Rule,
                     ExtentField out) {
  if (value.is_number_integer())
    out.text = value.dump();
  else if (value.is_string())
    out.text = value.get<std::string>();
  else
    path.expected("a whole number, or a text over the program's indices",
                  value);
}

static void readJson(const OrderedJson &value, const JsonPath &path, Rule rule,
                     ExtentsField out) {
  if (!value.is_array() || value.empty())
    return path.expected("a list of extents", value);
  for (const OrderedJson &each : value)
    readJson(each, path.at(out.texts.size()), rule,
             ExtentField{out.texts.emplace_back()});
}

static void readJson(const OrderedJson &value, const JsonPath &path, Rule rule,
                     NamesField out) {
  if (!value.is_array() || value.empty())
    return path.expected("a list of names", value);
  for (const OrderedJson &each : value) {
    std::string &name = out.names.emplace_back();
    if (!each.is_null())
      readJson(each, path.at(out.names.size() - 1), rule, name);
  }
}

template <typename Object>
static void fields(Object &field, PaddedDimension &padded) {
  field("dim", padded.dim, dimension);
  field("extent", ExtentField{padded.extent});
  field("axes", NamesField{padded.axes});
}

/// The shares of a dimension, each a tensor of its own.
struct SplitField {
  NameMap::Entry &entry;
};
template <typename Object> static void fields(Object &field, SplitField split) {
  NameMap::Entry &entry = split.entry;
  field("dim", entry.splitDim, dimension);
  field("sizes", ExtentsField{entry.sizes});
  field("names", NamesField{entry.names});
  field.refuseIf(entry.sizes.size() != entry.names.size(), "names",
                 fmt::format("expected a name for each of the {} sizes, not {}",
                             entry.sizes.size(), entry.names.size()));
}

static bool isPermutation(std::vector<size_t> order) {
  std::sort(order.begin(), order.end());
  for (size_t i = 0; i < order.size(); ++i)
    if (order[i] != i)
      return false;
  return true;
}

template <typename Object>
static void fields(Object &field, NameMap::Entry &entry) {
  std::string name;
  field("name", name, optional);
  if (!name.empty())
    entry.names = {name};
  field("whole", entry.isWhole, optional);
  field("padded", entry.padded, optional);
  field("unpad", ExtentsField{entry.unpad}, optional);
  field("shape", ExtentsField{entry.shape}, optional);
  field("permute", entry.permute, dimensions);
  field.refuseIf(!isPermutation(entry.permute), "permute",
                 "expected each dimension from 0 on once");
  field("split", SplitField{entry}, optional);
  field("reshape", ExtentsField{entry.reshape}, optional);
}

} // namespace tpsp::check

/// Reads the value of a key: a name, null or an object.
static void readEntry(const OrderedJson &value, const JsonPath &path,
                      NameMap::Entry &entry) {
  entry.isLeftOut = value.is_null();
  if (value.is_string())
    entry.names = {value.get<std::string>()};
  else if (value.is_object())
    readFields(value, path, entry);
  else if (!value.is_null())
    path.expected("a name, null or an object", value);
  if (entry.names.empty() && !entry.isLeftOut)
    path.refuse("has neither a name nor a split");
}

Status NameMap::read(const std::string &path, NameMap &out) {
  constexpr int64_t most = 1 << 26;
  std::string text, problem;
  OrderedJson json;
  Status status = rt::readWhole(path, most, text);
  if (status.ok())
    status = parseJson(text, json);
  if (!status.ok())
    return {status.code(),
            fmt::format("cannot read '{}': {}", path, status.message())};
  JsonPath root{"", problem};
  if (!json.is_object())
    root.expected("an object of names", json);
  for (const auto &[key, value] : json.items()) {
    if (!problem.empty())
      break;
    if (key == "$source")
      continue;
    Entry &entry = out.entries.emplace_back();
    entry.pattern = key;
    readEntry(value, root.at(key), entry);
  }
  if (!problem.empty())
    return invalid("'{}': {} (docs/Check.md#names)", path, problem);
  return {};
}

//===----------------------------------------------------------------------===//
// Applying
//===----------------------------------------------------------------------===//

/// Matches a name with a pattern. `found` gets the texts of its stars.
static bool matches(const std::string &pattern, const std::string &name,
                    std::vector<std::string> &found) {
  size_t star = pattern.find('*');
  if (star == std::string::npos)
    return pattern == name;
  if (name.compare(0, star, pattern, 0, star) != 0)
    return false;
  std::string rest = pattern.substr(star + 1);
  for (size_t end = star; end <= name.size(); ++end) {
    std::vector<std::string> others;
    if (matches(rest, name.substr(end), others)) {
      found.push_back(name.substr(star, end - star));
      found.insert(found.end(), others.begin(), others.end());
      return true;
    }
    if (end < name.size() && name[end] == '.')
      return false;
  }
  return false;
}

/// The name with its stars replaced, one after another.
static std::string filled(const std::string &name,
                          const std::vector<std::string> &texts) {
  std::string out;
  size_t next = 0;
  for (char c : name) {
    if (c == '*' && next < texts.size())
      out += texts[next++];
    else
      out += c;
  }
  return out;
}

NamedExtents tpsp::check::namedExtentsOf(const Plan &plan) {
  NamedExtents out;
  out.mesh = plan.mesh;
  for (const PlanBuffer &tensor : plan.tensors()) {
    std::vector<std::string> names = indexNamesOf(tensor);
    for (size_t i = 0; i < names.size(); ++i)
      out.indices[names[i]] = tensor.shape[i];
  }
  return out;
}

bool NameMap::needsProgram() const {
  return std::any_of(entries.begin(), entries.end(), [](const Entry &entry) {
    bool hasNames = entry.padded.has_value() || entry.isWhole;
    for (const ExtentTexts *list : entry.lists())
      hasNames |= std::any_of(list->begin(), list->end(), hasName);
    return hasNames;
  });
}

const NameMap::Entry *NameMap::find(const std::string &name,
                                    std::vector<std::string> &stars) const {
  // A loss and a norm have no name.
  for (const Entry &entry : entries) {
    stars.clear();
    if (!name.empty() && matches(entry.pattern, name, stars))
      return &entry;
  }
  return nullptr;
}

std::vector<std::string> NameMap::namesFor(const std::string &name) const {
  std::vector<std::string> stars, out;
  const Entry *entry = find(name, stars);
  if (!entry)
    return {name};
  for (const std::string &each : entry->names)
    if (!each.empty())
      out.push_back(filled(each, stars));
  return out;
}

Status NameMap::apply(const NamedExtents &program, Dump &dump) const {
  std::vector<DumpEntry> out;
  std::set<std::string> titles;
  auto keep = [&](DumpEntry entry) -> Status {
    if (!titles.insert(entry.title()).second)
      return invalid("the map of names gives two tensors of '{}' the name {}",
                     dump.path, quotedName(entry.title()));
    out.push_back(std::move(entry));
    return {};
  };
  for (const DumpEntry &entry : dump.entries) {
    std::vector<std::string> stars;
    const Entry *found = find(entry.name, stars);
    if (!found) {
      TPSP_TRY(keep(entry));
      continue;
    }
    for (size_t i = 0; i < found->names.size(); ++i) {
      if (found->names[i].empty())
        continue;
      DumpEntry mapped = entry;
      mapped.name = filled(found->names[i], stars);
      Status status = Rearranger(*found, program).apply(i, mapped);
      if (!status.ok())
        return invalid("{} of '{}' {}; change its entry in the map of names",
                       quotedName(entry.title()), dump.path, status.message());
      TPSP_TRY(keep(std::move(mapped)));
    }
  }
  dump.entries = std::move(out);
  return {};
}
