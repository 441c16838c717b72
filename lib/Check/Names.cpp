#include "tpsp/Check/Names.h"

#include "ExtentText.h"
#include "Form.h"
#include "NameEntry.h"

#include "tpsp/Abi/FileHandle.h"
#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Runtime/Driver/Tensors/Safetensors.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

using namespace tpsp;
using namespace tpsp::check;
using rt::invalid;
using rt::quotedName;
using rt::Status;
using Json = nlohmann::ordered_json;

NameMap::NameMap() = default;
NameMap::NameMap(NameMap &&) noexcept = default;
NameMap &NameMap::operator=(NameMap &&) noexcept = default;
NameMap::~NameMap() = default;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Reads a number, or a text of ExtentText.h.
static bool readExtent(const Json &json, std::string &out) {
  if (json.is_number_integer())
    out = fmt::to_string(json.get<int64_t>());
  else if (json.is_string())
    out = json.get<std::string>();
  return json.is_number_integer() || json.is_string();
}

static bool readExtents(const Json &json, ExtentTexts &out) {
  if (!json.is_array())
    return false;
  for (const Json &each : json)
    if (!readExtent(each, out.emplace_back()))
      return false;
  return !out.empty();
}

/// Reads the position of a dimension.
static bool readDimension(const Json &json, size_t &out) {
  constexpr uint64_t most = 64;
  if (!json.is_number_unsigned() || json.get<uint64_t>() > most)
    return false;
  out = json.get<size_t>();
  return true;
}

static bool readDimensions(const Json &json, std::vector<size_t> &out) {
  if (!json.is_array())
    return false;
  for (const Json &each : json)
    if (!readDimension(each, out.emplace_back()))
      return false;
  return true;
}

/// Reads a list of names; null, an empty name, leaves a part out.
static bool readNames(const Json &json, std::vector<std::string> &out) {
  if (!json.is_array())
    return false;
  for (const Json &each : json) {
    if (!each.is_string() && !each.is_null())
      return false;
    out.push_back(each.is_null() ? "" : each.get<std::string>());
  }
  return !out.empty();
}

static bool isPermutation(std::vector<size_t> order) {
  std::sort(order.begin(), order.end());
  for (size_t i = 0; i < order.size(); ++i)
    if (order[i] != i)
      return false;
  return true;
}

static bool readSplit(const Json &json, NameMap::Entry &entry) {
  return json.is_object() && json.contains("dim") &&
         readDimension(json["dim"], entry.splitDim) && json.contains("names") &&
         readNames(json["names"], entry.names) && json.contains("sizes") &&
         readExtents(json["sizes"], entry.sizes) &&
         entry.sizes.size() == entry.names.size();
}

static bool readPadded(const Json &json, NameMap::Entry &entry) {
  PaddedDimension &padded = entry.padded.emplace();
  return json.is_object() && json.contains("dim") &&
         readDimension(json["dim"], padded.dim) && json.contains("extent") &&
         readExtent(json["extent"], padded.extent) && json.contains("axes") &&
         readNames(json["axes"], padded.axes);
}

/// The readers of the keys of an entry; each returns false if the value is
/// malformed.
static auto readersOf(NameMap::Entry &entry) {
  using Reader = std::function<bool(const Json &)>;
  return std::map<std::string, Reader>{
      {"name",
       [&](const Json &json) {
         if (json.is_string())
           entry.names = {json.get<std::string>()};
         return json.is_string();
       }},
      {"whole",
       [&](const Json &json) {
         entry.isWhole = json.is_boolean() && json.get<bool>();
         return json.is_boolean();
       }},
      {"padded", [&](const Json &json) { return readPadded(json, entry); }},
      {"unpad",
       [&](const Json &json) { return readExtents(json, entry.unpad); }},
      {"shape",
       [&](const Json &json) { return readExtents(json, entry.shape); }},
      {"permute",
       [&](const Json &json) {
         return readDimensions(json, entry.permute) &&
                isPermutation(entry.permute);
       }},
      {"split", [&](const Json &json) { return readSplit(json, entry); }},
      {"reshape",
       [&](const Json &json) { return readExtents(json, entry.reshape); }}};
}

/// Reads the parts of an entry; false if one is malformed or unknown.
static bool readParts(const Json &json, NameMap::Entry &entry) {
  auto readers = readersOf(entry);
  for (const auto &[part, content] : json.items()) {
    auto reader = readers.find(part);
    if (reader == readers.end() || !reader->second(content))
      return false;
  }
  return true;
}

Status NameMap::read(const std::string &path, NameMap &out) {
  constexpr int64_t most = 1 << 26;
  std::string text;
  if (Status status = rt::readWhole(path, most, text); !status.ok())
    return {status.code(),
            fmt::format("cannot read '{}': {}", path, status.message())};
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    return invalid("'{}' is no JSON object of names (docs/Check.md#names)",
                   path);
  for (const auto &[key, value] : json.items()) {
    if (key == "$source")
      continue;
    Entry &entry = out.entries.emplace_back();
    entry.pattern = key;
    entry.isLeftOut = value.is_null();
    if (value.is_string())
      entry.names = {value.get<std::string>()};
    bool isRight = value.is_object() || value.is_string() || value.is_null();
    if (value.is_object())
      isRight = readParts(value, entry);
    if (!isRight || (entry.names.empty() && !entry.isLeftOut))
      return invalid(
          "'{}': the entry of {} is none; write a name, null, or an "
          "object with name, whole, padded, unpad, shape, permute, split "
          "or reshape (docs/Check.md#names)",
          path, quotedName(key));
  }
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
