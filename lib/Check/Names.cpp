#include "tpsp/Check/Names.h"

#include "Form.h"

#include "tpsp/Abi/FileHandle.h"
#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Runtime/Driver/Tensors/Safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
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

struct NameMap::Entry {
  std::string pattern;
  bool isLeftOut = false;
  /// One name; several if the tensor is split.
  std::vector<std::string> names;
  size_t splitDim = 0;
  Shape sizes;
  Shape unpad, shape;
  std::vector<size_t> permute;
};

NameMap::NameMap() = default;
NameMap::NameMap(NameMap &&) noexcept = default;
NameMap &NameMap::operator=(NameMap &&) noexcept = default;
NameMap::~NameMap() = default;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Reads a list of numbers from 0 up.
template <typename T>
static bool readList(const Json &json, std::vector<T> &out) {
  if (!json.is_array())
    return false;
  for (const Json &each : json) {
    constexpr int64_t most = int64_t(1) << 48;
    if (!each.is_number_unsigned() || each.get<uint64_t>() > uint64_t(most))
      return false;
    out.push_back(T(each.get<uint64_t>()));
  }
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

/// The readers of the keys of an entry; each returns false if the value is
/// malformed.
template <typename Entry> static auto readersOf(Entry &entry) {
  using Reader = std::function<bool(const Json &)>;
  return std::map<std::string, Reader>{
      {"name",
       [&](const Json &json) {
         if (json.is_string())
           entry.names = {json.template get<std::string>()};
         return json.is_string();
       }},
      {"unpad", [&](const Json &json) { return readList(json, entry.unpad); }},
      {"shape", [&](const Json &json) { return readList(json, entry.shape); }},
      {"permute",
       [&](const Json &json) {
         return readList(json, entry.permute) && isPermutation(entry.permute);
       }},
      {"split", [&](const Json &json) {
         return json.is_object() && json.contains("dim") &&
                json["dim"].is_number_unsigned() && json.contains("names") &&
                readNames(json["names"], entry.names) &&
                json.contains("sizes") &&
                readList(json["sizes"], entry.sizes) &&
                entry.sizes.size() == entry.names.size() &&
                (entry.splitDim = json["dim"].template get<size_t>(), true);
       }}};
}

/// Reads the parts of an entry; false if one is malformed or unknown.
template <typename Entry>
static bool readParts(const Json &json, Entry &entry) {
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
    Entry &entry = out.entries.emplace_back();
    entry.pattern = key;
    entry.isLeftOut = value.is_null();
    if (value.is_string())
      entry.names = {value.get<std::string>()};
    bool isRight = value.is_object() || value.is_string() || value.is_null();
    if (value.is_object())
      isRight = readParts(value, entry);
    if (!isRight || (entry.names.empty() && !entry.isLeftOut))
      return invalid("'{}': the entry of {} is none; write a name, null, or an "
                     "object with name, unpad, shape, permute or split "
                     "(docs/Check.md#names)",
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

static int64_t elementsOf(const Shape &shape) {
  int64_t product = 1;
  for (int64_t extent : shape)
    if (__builtin_mul_overflow(product, extent, &product))
      return -1;
  return product;
}

/// The block at [begin, begin + count) of each dimension.
static DumpedTensor blockOf(const DumpedTensor &tensor, const Shape &begin,
                            const Shape &count) {
  DumpedTensor out{tensor.dtype, count, {}};
  for (int64_t i = 0; i < int64_t(tensor.values.size()); ++i) {
    int64_t rest = i;
    bool isIn = true;
    for (size_t dim = count.size(); dim-- > 0 && isIn;) {
      int64_t at = rest % tensor.shape[dim];
      rest /= tensor.shape[dim];
      isIn = at >= begin[dim] && at < begin[dim] + count[dim];
    }
    if (isIn)
      out.values.push_back(tensor.values[i]);
  }
  return out;
}

/// Rearranges one rank's tensor, up to the split. Returns half a sentence if it
/// does not fit.
template <typename Entry>
static std::string rearrange(const Entry &entry, DumpedTensor &tensor) {
  auto text = [&] {
    return fmt::format("[{}]", fmt::join(tensor.shape, ", "));
  };
  if (!entry.unpad.empty()) {
    bool fits = entry.unpad.size() == tensor.shape.size();
    for (size_t i = 0; fits && i < entry.unpad.size(); ++i)
      fits = entry.unpad[i] <= tensor.shape[i];
    if (!fits)
      return fmt::format("cannot be cut from {} to [{}]", text(),
                         fmt::join(entry.unpad, ", "));
    tensor = blockOf(tensor, Shape(entry.unpad.size(), 0), entry.unpad);
  }
  if (!entry.shape.empty()) {
    if (elementsOf(entry.shape) != int64_t(tensor.values.size()))
      return fmt::format("is {} and has other elements than [{}]", text(),
                         fmt::join(entry.shape, ", "));
    tensor.shape = entry.shape;
  }
  if (entry.permute.empty())
    return "";
  if (entry.permute.size() != tensor.shape.size())
    return fmt::format("is {}, and 'permute' has {} dimensions", text(),
                       entry.permute.size());
  tensor.values = transposed(tensor.values, tensor.shape, entry.permute);
  Shape shape;
  for (size_t dim : entry.permute)
    shape.push_back(tensor.shape[dim]);
  tensor.shape = shape;
  return "";
}

/// The part of a rank's tensor that belongs to a name of a split. Sizes are in
/// any unit: a rank may have a share of each part.
template <typename Entry>
static std::string cutPart(const Entry &entry, size_t number,
                           DumpedTensor &tensor) {
  if (entry.sizes.empty())
    return "";
  int64_t total = 0, before = 0;
  for (size_t i = 0; i < entry.sizes.size(); ++i) {
    total += entry.sizes[i];
    before += i < number ? entry.sizes[i] : 0;
  }
  bool fits = entry.splitDim < tensor.shape.size() && total > 0;
  int64_t extent = fits ? tensor.shape[entry.splitDim] : 0;
  if (!fits || extent * entry.sizes[number] % total != 0 ||
      extent * before % total != 0)
    return fmt::format("is [{}], which cannot be split along dimension {} into "
                       "shares of {}",
                       fmt::join(tensor.shape, ", "), entry.splitDim,
                       fmt::join(entry.sizes, ", "));
  Shape begin(tensor.shape.size(), 0), count = tensor.shape;
  begin[entry.splitDim] = extent * before / total;
  count[entry.splitDim] = extent * entry.sizes[number] / total;
  tensor = blockOf(tensor, begin, count);
  return "";
}

Status NameMap::apply(Dump &dump) const {
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
    auto found =
        std::find_if(entries.begin(), entries.end(), [&](const Entry &each) {
          stars.clear();
          return matches(each.pattern, entry.name, stars);
        });
    if (entry.name.empty() || found == entries.end()) {
      TPSP_TRY(keep(entry));
      continue;
    }
    for (size_t i = 0; i < found->names.size(); ++i) {
      if (found->names[i].empty())
        continue;
      DumpEntry mapped = entry;
      mapped.name = filled(found->names[i], stars);
      for (std::optional<DumpedTensor> &tensor : mapped.ranks) {
        if (!tensor)
          continue;
        std::string problem = rearrange(*found, *tensor);
        if (problem.empty())
          problem = cutPart(*found, i, *tensor);
        if (!problem.empty())
          return invalid("{} of '{}' {}; change its entry in the map of names",
                         quotedName(entry.title()), dump.path, problem);
      }
      TPSP_TRY(keep(std::move(mapped)));
    }
  }
  dump.entries = std::move(out);
  return {};
}
