// Reads and writes descriptions of machines as JSON.
#include "HardwareFields.h"

#include "tpsp/Abi/JsonWriter.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace tpsp;

namespace tpsp {
/// The text of a built-in description, or null (EmbeddedHardware.cpp).
const char *embeddedHardware(llvm::StringRef name);

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Reads numbers above 0.
static std::vector<double> readNumbers(const OrderedJson &value,
                                       const JsonPath &path, double unit = 1) {
  std::vector<double> list;
  if (!value.is_array() || value.empty()) {
    path.expected("a list of numbers", value);
    return list;
  }
  for (const OrderedJson &entry : value) {
    double number = entry.is_number() ? entry.get<double>() * unit : 0;
    if (!(number > 0 && std::isfinite(number)))
      path.at(list.size()).expected("a number above 0", entry);
    list.push_back(number);
  }
  return list;
}

static void readJson(const OrderedJson &value, const JsonPath &path, Rule,
                     Axis out) {
  out.points = readNumbers(value, path);
  for (size_t i = 1; i < out.points.size(); ++i)
    if (out.points[i] <= out.points[i - 1])
      path.at(i).expected("more than the one before", value[i]);
}

static void readJson(const OrderedJson &value, const JsonPath &path, Rule rule,
                     Grid out) {
  auto [axis, size] = out.axes.front();
  if (out.axes.size() == 1) {
    std::vector<double> numbers = readNumbers(value, path, rule.unit);
    if (numbers.size() != size)
      path.refuse(std::string("expected a number for each ") + axis);
    out.numbers.insert(out.numbers.end(), numbers.begin(), numbers.end());
  } else if (!value.is_array() || value.size() != size) {
    path.refuse(std::string("expected a list for each ") + axis);
  } else {
    for (size_t i = 0; i < size; ++i)
      readJson(value[i], path.at(i), rule,
               Grid{out.axes.drop_front(), out.numbers});
  }
}

/// Reads [[bytes, value], ...], ascending in bytes.
static void readJson(const OrderedJson &value, const JsonPath &path, Rule rule,
                     SizeTable &out) {
  if (!value.is_array() || value.empty())
    return path.expected("a list of [bytes, value] pairs", value);
  for (const OrderedJson &entry : value) {
    JsonPath here = path.at(out.size());
    std::vector<double> pair = readNumbers(entry, here);
    if (pair.size() != 2)
      return here.expected("[bytes, value]", entry);
    if (!out.empty() && pair[0] <= out.back().bytes)
      here.expected("more bytes than the one before", entry[0]);
    out.push_back({pair[0], pair[1] * rule.unit});
  }
}

/// Reads {"8": [[bytes, value], ...], ...}: a table for each group size.
static void readJson(const OrderedJson &value, const JsonPath &path, Rule rule,
                     std::map<int64_t, SizeTable> &out) {
  if (!value.is_object())
    return path.expected("an object from group sizes to tables", value);
  for (const auto &entry : value.items()) {
    int64_t group = 0;
    if (llvm::StringRef(entry.key()).getAsInteger(10, group) || group < 2 ||
        group > (1 << 20))
      return path.refuse("expected a group of at least 2 ranks, not '" +
                         entry.key() + "'");
    readJson(entry.value(), path.at(entry.key()), rule, out[group]);
  }
}

/// Reads {"2x8": [[bytes, value], ...], ...}: a table for each number of nodes
/// and of ranks in each.
static void readJson(const OrderedJson &value, const JsonPath &path, Rule rule,
                     std::map<int64_t, std::map<int64_t, SizeTable>> &out) {
  if (!value.is_object())
    return path.expected("an object from places to tables", value);
  for (const auto &entry : value.items()) {
    auto [nodes, perNode] = llvm::StringRef(entry.key()).split('x');
    int64_t numNodes = 0, numPerNode = 0;
    if (nodes.getAsInteger(10, numNodes) ||
        perNode.getAsInteger(10, numPerNode) || numNodes < 2 ||
        numPerNode < 1 || numNodes > (1 << 20) || numPerNode > (1 << 16))
      return path.refuse("expected nodes, at least 2, and ranks of each, as in "
                         "'2x8', not '" +
                         entry.key() + "'");
    SizeTable &table = out[numPerNode][numNodes];
    if (!table.empty())
      return path.refuse("'" + entry.key() + "' is there twice");
    readJson(entry.value(), path.at(entry.key()), rule, table);
  }
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static OrderedJson writtenJson(Axis axis, Rule) { return axis.points; }

/// Writes nested lists of the axes' sizes, with the numbers from `next` on.
static OrderedJson writtenJson(decltype(Grid::axes) axes, Rule rule,
                               const double *&next) {
  OrderedJson list = OrderedJson::array();
  for (size_t i = 0; i < axes.front().second; ++i)
    list.push_back(axes.size() > 1 ? writtenJson(axes.drop_front(), rule, next)
                                   : writtenJson(*next++, rule));
  return list;
}
static OrderedJson writtenJson(Grid grid, Rule rule) {
  const double *next = grid.numbers.data();
  return grid.numbers.empty() ? OrderedJson()
                              : writtenJson(grid.axes, rule, next);
}

static OrderedJson writtenJson(SizeTable &table, Rule rule) {
  OrderedJson list = OrderedJson::array();
  for (const SizePoint &point : table)
    list.push_back({int64_t(point.bytes), writtenJson(point.value, rule)});
  return list;
}
static OrderedJson writtenJson(std::map<int64_t, SizeTable> &byGroup,
                               Rule rule) {
  OrderedJson json;
  for (auto &[group, table] : byGroup)
    json[std::to_string(group)] = writtenJson(table, rule);
  return json;
}
static OrderedJson
writtenJson(std::map<int64_t, std::map<int64_t, SizeTable>> &places,
            Rule rule) {
  OrderedJson json;
  for (auto &[perNode, byNodes] : places)
    for (auto &[nodes, table] : byNodes)
      json[std::to_string(nodes) + "x" + std::to_string(perNode)] =
          writtenJson(table, rule);
  return json;
}
} // namespace tpsp

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// Merges a description with its base. A description need not repeat a built-in
/// one: with "base", its outermost keys replace the base's.
static OrderedJson withBase(OrderedJson json, const JsonPath &path) {
  if (!json.is_object() || !json.contains("base"))
    return json;
  const OrderedJson &base = json["base"];
  const char *text =
      base.is_string() ? embeddedHardware(base.get<std::string>()) : nullptr;
  if (!text) {
    path.at("base").expected("the name of a built-in description", base);
    return json;
  }
  // Built-in descriptions are valid, and have no base themselves.
  OrderedJson merged = withBase(OrderedJson::parse(text), path);
  merged.update(json);
  return merged;
}

llvm::Expected<Hardware> tpsp::parseHardware(llvm::StringRef text,
                                             llvm::StringRef origin) {
  OrderedJson json;
  if (rt::Status parsed = parseJson(text, json); !parsed.ok())
    return llvm::createStringError(origin + ": " + parsed.message());
  std::string problem;
  JsonPath outermost{"", problem};
  json = withBase(std::move(json), outermost);
  Hardware result;
  JsonObject reader(json, outermost);
  reader.find("base");
  fields(reader, result);
  reader.done();
  if (!problem.empty())
    return llvm::createStringError(origin + ": " + problem +
                                   " (docs/Hardware.md has every key)");
  return result;
}

/// The outermost keys of `json` that differ from those of the base. All keys
/// if it lacks one of the base's, since a file cannot take a key away.
static OrderedJson differenceOf(OrderedJson json, llvm::StringRef base,
                                const OrderedJson &same) {
  OrderedJson result = {{"base", base.str()}};
  for (const auto &[key, value] : same.items())
    if (!json.contains(key))
      return json;
  for (const auto &[key, value] : json.items())
    if (!same.contains(key) || same[key] != value)
      result[key] = value;
  return result;
}

std::string tpsp::toJson(const Hardware &hardware, llvm::StringRef base) {
  // Most measurements have no more digits.
  constexpr int digits = 4;
  Hardware copy = hardware; // fields() needs members that can be written
  OrderedJson json = writtenFields(copy, digits);
  if (const char *text = embeddedHardware(base)) {
    Hardware builtIn = llvm::cantFail(parseHardware(text, base));
    json = differenceOf(std::move(json), base, writtenFields(builtIn, digits));
  }
  return json.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}
